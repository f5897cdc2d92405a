// The functions of CUDA's runtime on the host. Memory of the device is memory of this process, and work is finished when
// a function returns. Tile kernels are launched by a function that the interpreter of this process sets.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tilery_host.h"

namespace {
using Launch = int (*)(const char* type, const unsigned* grid, void** slots);
Launch launch_function = nullptr;
bool asking = false;
std::string asked;
tilery::Grid now;
int depth = 0;
cudaError_t last = cudaSuccess;
int properties[2] = {10, 0};
constexpr size_t GUARD = 1024;  // free bytes after each allocation: one past the end is in no other

struct Block {
  size_t size, number;
};
using Blocks = std::map<char*, Block>;
Blocks memory;                           // allocations of the device
Blocks pinned;                           // those that the host may access too
size_t allocations = 0;
std::map<cudaEvent_t, double> recorded;  // milliseconds

cudaError_t failed(cudaError_t error) { return error ? last = error : error; }

double clock_now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

cudaError_t allocate(Blocks& where, void** place, size_t size) {
  if (!place) return failed(cudaErrorInvalidValue);
  *place = nullptr;
  if (!size) return cudaSuccess;
  if (size > SIZE_MAX / 2 || posix_memalign(place, 256, (size + 255) / 256 * 256 + GUARD))
    return failed(cudaErrorMemoryAllocation);
  where[(char*)*place] = {size, allocations++};
  return cudaSuccess;
}

cudaError_t release(Blocks& where, void* place) {
  if (!place) return cudaSuccess;
  if (!where.erase((char*)place)) return failed(cudaErrorInvalidValue);
  free(place);
  return cudaSuccess;
}

bool on_device(const void* place, size_t size) {
  auto after = memory.upper_bound((char*)place);
  if (after == memory.begin()) return false;
  auto& [start, block] = *--after;
  size_t length = block.size;
  size_t offset = (char*)place - start;
  return offset <= length && size <= length - offset;
}

bool near_device(const void* place) {
  auto after = memory.upper_bound((char*)place);
  return after != memory.begin() && (char*)place < (--after)->first + after->second.size;
}

// Whether an address is what a copy says that it is; a copy that says nothing takes it from the address.
bool legal(const void* place, size_t size, bool device, bool by_address) {
  if (by_address) return !near_device(place) || on_device(place, size);
  return device ? on_device(place, size) : !near_device(place);
}

template <class T>
T make_handle() {
  static size_t count = 0;
  return (T)(++count << 8);
}
}  // namespace

// ---------------------------------------------------------------- launches

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
const tilery::Grid& tilery::current() { return now; }

bool tilery::Grid::begin(const Grid& grid) {
  if (depth) {
    std::fprintf(stderr, "tilery: a kernel launches a kernel, which is not supported\n");
    std::abort();
  }
  const dim3 &g = grid.grid, &b = grid.block;
  if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z || g.y > 65535 || g.z > 65535 || (uint64_t)b.x * b.y * b.z > 1024) {
    failed(cudaErrorInvalidConfiguration);
    return false;
  }
  now = grid;
  depth = 1;
  return true;
}

void tilery::Grid::end() { depth = 0; }

void tilery::launch_tile(const char* type, void** slots) {
  if (asking) {
    asked = type;
    return;
  }
  if (!launch_function) {
    std::fprintf(stderr, "tilery: a kernel is launched before main\n");
    std::abort();
  }
  unsigned grid[3] = {now.grid.x, now.grid.y, now.grid.z};
  std::fflush(nullptr);
  failed((cudaError_t)launch_function(type, grid, slots));
}

extern "C" {
void tilery_start(Launch launch, int major, int minor) {
  launch_function = launch;
  properties[0] = major, properties[1] = minor;
}

// Fill in the allocations: address, size and number of each, as many as fit; return how many there are.
size_t tilery_memory(uint64_t* found, size_t most) {
  size_t at = 0;
  for (auto* where : {&memory, &pinned})
    for (auto& [start, block] : *where) {
      if (at < most) found[3 * at] = (uint64_t)start, found[3 * at + 1] = block.size, found[3 * at + 2] = block.number;
      at++;
    }
  return at;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** slots, size_t shared, cudaStream_t stream) {
  // A stub says which kernel it is; it reads no argument then. A SIMT kernel has no stub.
  asked.clear();
  asking = true;
  now = {dim3(0, 0, 0), dim3(0, 0, 0)};
  ((void (*)())kernel)();
  asking = false;
  if (asked.empty()) return failed(cudaErrorInvalidDeviceFunction);
  std::string type = asked;
  tilery::Grid{grid, block, shared, stream}.run([&] { tilery::launch_tile(type.c_str(), slots); });
  return last;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** slots) {
  return cudaLaunchKernel(kernel, config->gridDim, config->blockDim, slots, config->dynamicSmemBytes, config->stream);
}

// ---------------------------------------------------------------- memory

cudaError_t cudaMalloc(void** place, size_t size) { return allocate(memory, place, size); }
cudaError_t cudaMallocAsync(void** place, size_t size, cudaStream_t) { return allocate(memory, place, size); }
cudaError_t cudaMallocManaged(void** place, size_t size, unsigned) { return allocate(pinned, place, size); }
cudaError_t cudaMallocHost(void** place, size_t size) { return allocate(pinned, place, size); }
cudaError_t cudaHostAlloc(void** place, size_t size, unsigned) { return allocate(pinned, place, size); }
cudaError_t cudaFreeHost(void* place) { return release(pinned, place); }
cudaError_t cudaFree(void* place) { return release(pinned.count((char*)place) ? pinned : memory, place); }
cudaError_t cudaFreeAsync(void* place, cudaStream_t) { return cudaFree(place); }
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *available = *total = (size_t)64 << 30;
  for (auto& each : memory) *available -= each.second.size < *available ? each.second.size : *available;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  if (!size) return cudaSuccess;
  bool guess = kind == cudaMemcpyDefault;
  bool device_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool device_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool managed_to = pinned.count((char*)to), managed_from = pinned.count((char*)from);
  if (!to || !from || !legal(to, size, device_to, guess || managed_to) ||
      !legal(from, size, device_from, guess || managed_from))
    return failed(cudaErrorInvalidValue);
  memmove(to, from, size);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, size, kind);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  for (size_t row = 0; row < height; row++)
    if (auto error = cudaMemcpy((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width, kind)) return error;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* place, int value, size_t size) {
  if (size && !on_device(place, size) && !pinned.count((char*)place)) return failed(cudaErrorInvalidValue);
  memset(place, value, size);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* place, int value, size_t size, cudaStream_t) { return cudaMemset(place, value, size); }
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* place) {
  *found = {};
  found->type = near_device(place) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  found->devicePointer = near_device(place) ? (void*)place : nullptr;
  return cudaSuccess;
}

// ---------------------------------------------------------------- streams and events

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return *stream = make_handle<cudaStream_t>(), cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return last; }
cudaError_t cudaStreamQuery(cudaStream_t) { return last; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = make_handle<cudaEvent_t>();
  recorded[*event] = -1;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (!recorded.count(event)) return failed(cudaErrorInvalidResourceHandle);
  recorded[event] = clock_now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return recorded.count(event) ? last : failed(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return recorded.erase(event) ? cudaSuccess : failed(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!recorded.count(start) || !recorded.count(end) || recorded[start] < 0 || recorded[end] < 0)
    return failed(cudaErrorInvalidResourceHandle);
  *milliseconds = (float)(recorded[end] - recorded[start]);
  return cudaSuccess;
}

// ---------------------------------------------------------------- the device

cudaError_t cudaDeviceSynchronize(void) { return last; }
cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device ? failed(cudaErrorInvalidDevice) : cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
  if (device) return failed(cudaErrorInvalidDevice);
  *found = {};
  std::snprintf(found->name, sizeof found->name, "tilery");
  found->totalGlobalMem = (size_t)64 << 30;
  found->sharedMemPerBlock = 48 << 10;
  found->sharedMemPerBlockOptin = 227 << 10;
  found->sharedMemPerMultiprocessor = 228 << 10;
  found->regsPerBlock = found->regsPerMultiprocessor = 65536;
  found->warpSize = 32;
  found->maxThreadsPerBlock = 1024;
  found->maxThreadsDim[0] = found->maxThreadsDim[1] = 1024;
  found->maxThreadsDim[2] = 64;
  found->maxGridSize[0] = 2147483647;
  found->maxGridSize[1] = found->maxGridSize[2] = 65535;
  found->major = properties[0];
  found->minor = properties[1];
  found->multiProcessorCount = 148;
  found->maxThreadsPerMultiProcessor = 2048;
  found->maxBlocksPerMultiProcessor = 32;
  found->l2CacheSize = 126 << 20;
  found->memoryBusWidth = 8192;
  found->unifiedAddressing = found->managedMemory = found->concurrentManagedAccess = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp found;
  if (auto error = cudaGetDeviceProperties(&found, device)) return error;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = found.multiProcessorCount; break;
    case cudaDevAttrComputeCapabilityMajor: *value = found.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = found.minor; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = found.maxThreadsPerBlock; break;
    case cudaDevAttrWarpSize: *value = found.warpSize; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)found.sharedMemPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)found.sharedMemPerBlockOptin; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)found.sharedMemPerMultiprocessor; break;
    case cudaDevAttrL2CacheSize: *value = found.l2CacheSize; break;
    case cudaDevAttrMaxGridDimX: *value = found.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = found.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = found.maxGridSize[2]; break;
    case cudaDevAttrClockRate: *value = 1965000; break;
    case cudaDevAttrMemoryClockRate: *value = 3996000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = found.memoryBusWidth; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, const void*) {
  *found = {};
  found->maxThreadsPerBlock = 1024;
  found->ptxVersion = found->binaryVersion = 10 * properties[0] + properties[1];
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  return *blocks = 1, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t, unsigned) {
  return *blocks = 1, cudaSuccess;
}

// ---------------------------------------------------------------- errors

cudaError_t cudaPeekAtLastError(void) { return last; }
cudaError_t cudaGetLastError(void) {
  cudaError_t found = last;
  if (found != cudaErrorLaunchFailure && found != cudaErrorIllegalAddress) last = cudaSuccess;  // those two stay
  return found;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "unrecognized error code";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return "unrecognized error code";
  }
}
}  // extern "C"
