#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <string>

#define CHECK(call)                                                      \
  do {                                                                   \
    cudaError_t error = (call);                                          \
    if (error != cudaSuccess) {                                          \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));         \
      std::exit(3);                                                      \
    }                                                                    \
  } while (0)

struct Options {
  std::string name = "all";
  int count = 1000;
  void parse(int argc, char** argv);
};

inline void Options::parse(int argc, char** argv) {
  if (argc > 1) count = std::atoi(argv[1]);
}
