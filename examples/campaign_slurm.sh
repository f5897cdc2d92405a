#!/bin/bash
# Look for faults with random modules in an array of jobs: `sbatch --array=0-63 campaign_slurm.sh 100000 findings`.
# Each job checks its share with all cores that it got, and keeps a journal in the folder that all share. A job that is started
# again continues with it. At the end, `tilery smith --campaign --against reference,cpu --count 100000 -o findings` puts the parts
# together, and does what a lost job has left. Without SLURM, this does everything.
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
set -u
count=${1:-100}
folder=${2:-findings}
part=()
[ -z "${SLURM_ARRAY_TASK_ID:-}" ] || part=(--shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT")
tilery smith --campaign --against reference,cpu --count "$count" -o "$folder" --jobs "${SLURM_CPUS_PER_TASK:-2}" "${part[@]}"
status=$?
# A fault that was found is a result, not a failed job.
[ "$status" -le 1 ]
