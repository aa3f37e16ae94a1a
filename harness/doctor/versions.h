/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's parts and their versions, as whole texts, since 570.124.04 and 570.124.06 do not work
 * together; and the small questions about the driver that several families ask. */
#ifndef GPUVET_DOCTOR_VERSIONS_H
#define GPUVET_DOCTOR_VERSIONS_H

#include "doctor/doctor.h"
#include "doctor/scene.h"

enum { VENDOR_NVIDIA = 0x10de };

/* Of the loaded kernel module nvidia; NULL: not loaded, or not known. Borrowed. */
const char *versions_loaded(const struct scene *scene);
/* Whether nvidia is loaded: 1, 0; -1 unknown. */
int versions_is_loaded(const struct scene *scene);
/* The open flavour of the kernel module, loaded or (where none is) on the disk: 1, 0; -1 unknown. */
int versions_is_open(const struct scene *scene);

/* "cuda" or "nvml" as a program finds it: path, or NULL. Borrowed. */
const char *versions_library(const struct scene *scene, const char *name);
/* Its version where the file's name tells one ("libcuda.so.1" does not); NULL unknown. Borrowed. */
const char *versions_of_library(const struct scene *scene, const char *name);
/* Whether it was looked for at all, so that a missing one is missing. */
bool versions_libraries_known(const struct scene *scene);
/* A libcuda of the forward compatibility package: another version than the module's is its purpose. */
bool versions_is_compat(const char *path);

/* A GPU of NVIDIA on the PCI bus that is not handed to a virtual machine; `index` counts them. NULL: no more.
 */
const struct pci_facts *versions_gpu(const struct scene *scene, size_t index);
/* By PCI device id: Turing and later have a GSP; Blackwell and later (and Grace Hopper) want open modules. */
bool versions_has_gsp(int device);
bool versions_wants_open(int device);
/* GeForce, TITAN and older Quadro: no forward compatibility. */
bool versions_is_consumer(const struct scene *scene);

/* What the probes said. */
bool versions_cuda_works(const struct scene *scene); /* cuInit answered 0 */
bool versions_cuda_fails(const struct scene *scene); /* an error, a hang, a crash */
int versions_cuda_code(const struct scene *scene);   /* -1: not asked, or no answer */
bool versions_nvml_works(const struct scene *scene);
/* GPUs that NVML lists; -1 unknown. */
int versions_nvml_count(const struct scene *scene);
bool versions_nvml_has(const struct scene *scene, const char *bdf);

/* A variable of the environment; NULL: not set, or not known. Borrowed. */
const char *versions_variable(const struct scene *scene, const char *name);
/* A GPU is asked for in this container: nodes, NVIDIA_VISIBLE_DEVICES, or a driver library is there. */
bool versions_container_wants(const struct scene *scene);

/* Lines of a remedy in this distribution's words. */
void remedy_headers(struct finding *finding, const struct scene *scene);
void remedy_initrd(struct finding *finding, const struct scene *scene);
void remedy_user_space(struct finding *finding, const struct scene *scene, const char *version);

#endif
