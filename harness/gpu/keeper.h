/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: a process that holds every GPU open for a whole run, so that a worker's end does not let the
 * driver put them to sleep, and that answers the quiet gate meanwhile. It changes no
 * setting. */
#ifndef GPUVET_GPU_KEEPER_H
#define GPUVET_GPU_KEEPER_H

/* The keeper's body; returns its exit status at the end of stdin. On stdout, one JSON object a line:
 *   {"type":"ready","gpus":N,"held":M,"reason":null}   once, first: N GPUs that NVML counts, M device nodes
 * held open. `reason` says what failed, or is null.
 *   {"type":"activity","gpus":[…],"reason":null}       for each {"type":"activity"} on stdin: nvml_activity's
 * array, or null with the reason.
 *   {"type":"counters","gpus":{"GPU-…":{…}},"reason":null}   for each
 * {"type":"counters","gpus":["GPU-…"],"whole":true}: nvml_counters' object of each, with "aer" (pci_errors)
 * of the GPU and the bridges above it. Without "whole" only what is counted.
 *   {"type":"error","reason":"…"}                       for a line that it does not understand.
 * A sick driver can make it hang at any time: whoever asks must bound the wait. */
int keeper_main(void);

#endif
