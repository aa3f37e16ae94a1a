/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the GPUs as the families nodes, uvm, cgroup, caps and gpu see it: which device nodes matter here,
 * and what is wrong with each. Computed from a scene; nothing here asks anybody. */
#ifndef GPUVET_DOCTOR_ACCESS_H
#define GPUVET_DOCTOR_ACCESS_H

#include "doctor/doctor.h"
#include "doctor/scene.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACCESS_MAX_GPUS = 64, ACCESS_MAX_SUBJECTS = 512 };

struct access_gpu {
    char bdf[20];  /* "" unknown */
    int minor;     /* -1 unknown */
    char uuid[64]; /* "" unknown */
    bool bound;    /* to the nvidia driver, as sysfs says */
    bool of_vm;    /* to another driver: it is for a virtual machine */
    bool in_proc;  /* below /proc/driver/nvidia/gpus */
    bool in_nvml;
    const char *asked_by; /* "it is bound to nvidia", "/dev/nvidia0 is there" …; NULL: nobody asked for it */
};

/* Why a GPU is asked for that CUDA_VISIBLE_DEVICES names by an index beyond what is here. */
#define ACCESS_COUNTED "CUDA_VISIBLE_DEVICES counts it"

enum access_role { ROLE_CTL, ROLE_UVM, ROLE_GPU, ROLE_CAP, ROLE_OPTIONAL };

/* In the order of looking: the first that holds. */
enum access_trouble {
    TROUBLE_NONE,
    TROUBLE_UNKNOWN,      /* not enough is known */
    TROUBLE_MISSING,      /* no node */
    TROUBLE_HANG,         /* stat or open does not return */
    TROUBLE_NOT_DEVICE,   /* a file, a folder, a block device */
    TROUBLE_UNREGISTERED, /* no driver has registered this class: the module is not loaded */
    TROUBLE_MAJOR,        /* its major is not the kernel's */
    TROUBLE_MINOR,        /* right major, other minor than its name says */
    TROUBLE_CGROUP,
    TROUBLE_NODEV,
    TROUBLE_UNMAPPED,
    TROUBLE_MODE,
    TROUBLE_LSM,
    TROUBLE_ERROR, /* any other errno */
};

struct access_subject {
    enum access_role role;
    char path[64];
    const struct device_node *node; /* NULL: missing */
    int want_major, want_minor;     /* want_major -1: the kernel's number is not known */
    const struct access_gpu *gpu;   /* of ROLE_GPU; NULL: no GPU with this minor is known */
    bool needed;                    /* CUDA here cannot do without */
    enum access_trouble trouble;
    bool denied; /* the device cgroup refuses its right number, whatever else is wrong */
};

struct access_caller {
    int64_t uid, gid; /* -1 unknown */
    int64_t groups[256];
    size_t n_groups;
    bool groups_known;
    bool user_namespace; /* ids are mapped */
};

struct access {
    const struct scene *scene;
    bool kept;                               /* by the scene */
    struct access_gpu gpus[ACCESS_MAX_GPUS]; /* in PCI order */
    size_t n_gpus;
    struct access_subject *subjects; /* at most ACCESS_MAX_SUBJECTS */
    size_t n_subjects, room_for_subjects;
    struct access_caller caller;
    bool numbers;  /* /proc/devices is known; without it a node is judged by what it answers alone */
    bool driver;   /* the kernel has the driver's devices */
    bool wanted;   /* a GPU is asked for here */
    bool mig;      /* MIG is on somewhere */
    char *v1_list; /* devices.list of the caller's v1 group; NULL: none */
    char *v1_file; /* where it is */
};

/* Worked out once a scene, where it keeps it (scene_make). Release with access_free. No nodes looked at:
 * NULL. */
struct access *access_read(const struct scene *scene);
void access_free(struct access *access);
/* What the scene keeps is released; nobody may hold it any more. */
void access_forget(const struct scene *scene);

/* The subject of a role with a trouble, after `previous` (NULL: the first); NULL: no more. */
const struct access_subject *access_next(const struct access *access, const struct access_subject *previous,
                                         enum access_role role, enum access_trouble trouble);

/* The major that the kernel gives a class of nodes; -1: not registered. */
int access_major(const struct scene *scene, const char *const *names);
/* Who has a major now, "nvidia-uvm"; NULL: nobody, or not known. Release with free. */
char *access_owner(const struct scene *scene, int major);
/* Whether devices.list (v1) lets this device be read and written; "m" alone makes nodes only. */
bool access_v1_allows(const char *list, int major, int minor);
/* Whether the device rules that hold for this process are those of cgroup v1, mounted here or not. */
bool access_is_v1(const struct scene *scene);
/* "Proxmox container 129" → "129", as its root's storage is called; NULL: not known. Release with free. */
char *access_pve_id(const struct scene *scene);
/* The folder's or node's mount in mountinfo has nodev; `line` gets the line (release with free). */
bool access_nodev(const struct scene *scene, const char *path, char **line);
/* The LSM profile of this process; NULL: none confines it. Release with free. */
char *access_label(const struct scene *scene);

/* "crw-rw---- 0:44 195,0, open: EACCES": a node as evidence. */
void access_evidence(struct finding *finding, const struct access_subject *subject);

#endif
