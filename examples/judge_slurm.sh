#!/bin/bash
# Judge candidates in an array of jobs: `sbatch --array=0-63 judge_slurm.sh cases.toml candidates/*.py`.
# Each job judges its share with all cores that it got, and leaves one JSON file per candidate in results/. A job that is started
# again continues with its log. Without SLURM, this judges everything: `bash judge_slurm.sh cases.toml candidates/*.py`.
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
set -u
cases=$1
shift
task=${SLURM_ARRAY_TASK_ID:-0}
count=${SLURM_ARRAY_TASK_COUNT:-1}
mkdir -p results logs
tilery judge "$@" --cases "$cases" --shard "$task/$count" --jobs "${SLURM_CPUS_PER_TASK:-2}" \
  --log "logs/$task-of-$count.jsonl" -o results
status=$?
# A rejected candidate is a result, not a failed job.
[ "$status" -le 1 ]
