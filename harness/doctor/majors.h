/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of character devices: which driver owns which now (/proc/devices), and what they were before. */
#ifndef GPUVET_DOCTOR_MAJORS_H
#define GPUVET_DOCTOR_MAJORS_H

#include "doctor/scene.h"

/* Fixed for nvidia0, nvidiactl and nvidia-modeset (Documentation/admin-guide/devices.txt). */
enum { MAJOR_NVIDIA = 195 };

/* The major of a driver's name now; "nvidia" stands for nvidia, nvidia-frontend and nvidiactl, whatever this
 * driver calls it. -1: not registered, or /proc/devices is not known. */
int majors_current(const struct scene *scene, const char *name);
/* The driver that owns `major` now; "" none or not known. Borrowed. */
const char *majors_name(const struct scene *scene, int major);
/* What the baseline says of the name; -1 unknown, or the same as now. */
int majors_before(const struct scene *scene, const char *name);
/* Given out at run time: 234 to 254, 384 to 511 (include/linux/fs.h). */
bool majors_dynamic(int major);
/* A driver's name that a container may well want besides a GPU: drm, fuse, tun. */
bool majors_common(const char *name);
/* 1, 2; 0: not known, or both. */
int majors_cgroup(const struct scene *scene);

/* The PCI address of the GPU with this minor, by /proc/driver/nvidia; false when it is not known. */
bool majors_gpu_of_minor(const struct scene *scene, int minor, char bdf[16]);
/* Its index in PCI order; -1 unknown. */
int majors_index_of_gpu(const struct scene *scene, const char *bdf);

#endif
