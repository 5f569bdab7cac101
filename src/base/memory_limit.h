/* What the control groups of Linux leave to a process: how Slurm, systemd and containers limit memory. */
#ifndef CRD_BASE_MEMORY_LIMIT_H
#define CRD_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* The first number after `key` at a line's beginning, or -1. */
int64_t crd_system_number(const char *path, const char *key);

/* Bytes that the groups named in `groups` (/proc/self/cgroup) and those above them still allow; INT64_MAX where none
 * limits it. `mount` is where they lie: /sys/fs/cgroup. */
int64_t crd_memory_left_by_groups(const char *groups, const char *mount);

#endif
