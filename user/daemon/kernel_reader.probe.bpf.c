// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel reader for Linux before 6.2, which has no bpf_rdonly_cast(): structures are copied.
 */
#define KERNEL_READER_PROBE 1
#include "kernel_reader.bpf.c"
