/* SPDX-License-Identifier: Apache-2.0 */
#include "system/topology.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "system/topology_check.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct topology {
    hwloc_topology_t inner;
};

/* Variables of a site's or a batch system's would put another machine, or none, in this one's place. */
static void forget_variables(void) {
    for (char **at = environ; at != NULL && *at != NULL;) {
        /* An entry without a '=' is no variable: nothing reads it, and unsetenv leaves it. */
        if (!text_starts(*at, "HWLOC_") || strchr(*at, '=') == NULL) {
            at++;
            continue;
        }
        char *name = mem_copy_bytes(*at, strcspn(*at, "="));
        bool gone = unsetenv(name) == 0; /* moves the rest up */
        free(name);
        at += gone ? 0 : 1;
    }
}

/* hwloc as a reader of sysfs only. Its plugins would load OpenCL (and with it libcuda, which wakes GPUs and
 * may hang) and X11, so they stay out, also where a distribution builds them in. */
static bool start(hwloc_topology_t *out, struct error *err) {
    static const char *const unwanted[] = {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};
    forget_variables();
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    /* hwloc's own parser on hostile text: libxml2 would fetch entities. */
    setenv("HWLOC_LIBXML_IMPORT", "0", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1); /* its lines are none of ours, and say nothing to do */
    if (hwloc_topology_init(out) != 0)
        return FAIL(err, ERROR_SYSTEM, "hwloc does not start");
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        hwloc_topology_set_components(*out, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, unwanted[i]);
    return true;
}

/* What the cpuset forbids stays in the picture, so that a node has the same index in a container as outside;
 * it is no place to pin to all the same. */
static struct topology *load(hwloc_topology_t inner, const char *what, struct error *err) {
    hwloc_topology_set_io_types_filter(inner, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_flags(inner, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(inner) != 0) {
        hwloc_topology_destroy(inner);
        FAIL(err, ERROR_DATA, "hwloc cannot read %s", what);
        return NULL;
    }
    struct topology *topology = mem_zeroed(1, sizeof *topology);
    topology->inner = inner;
    return topology;
}

/* Who started us under taskset, or a batch system by affinity, means it: the rest is not ours. */
static void allow_affinity(hwloc_topology_t inner) {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set != NULL && hwloc_get_cpubind(inner, set, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(inner));
        if (!hwloc_bitmap_iszero(set))
            hwloc_topology_allow(inner, set, NULL, HWLOC_ALLOW_FLAG_CUSTOM);
    }
    hwloc_bitmap_free(set);
}

struct topology *topology_live(struct error *err) {
    hwloc_topology_t inner;
    if (!start(&inner, err)) {
        RELAY(err);
        return NULL;
    }
    if (access("/sys/devices/system/cpu", F_OK) != 0)
        log_warning(
            "/sys is not mounted, so sockets, caches and NUMA nodes are not known: mount -t sysfs sysfs /sys");
    struct topology *topology = load(inner, "this machine's topology", err);
    if (topology != NULL)
        allow_affinity(topology->inner);
    return topology;
}

bool topology_allow_common(struct topology *topology, const struct topology *other) {
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    bool good = cpus != NULL && nodes != NULL;
    if (good) {
        hwloc_bitmap_and(cpus, hwloc_topology_get_allowed_cpuset(topology->inner),
                         hwloc_topology_get_allowed_cpuset(other->inner));
        hwloc_bitmap_and(nodes, hwloc_topology_get_allowed_nodeset(topology->inner),
                         hwloc_topology_get_allowed_nodeset(other->inner));
        good = !hwloc_bitmap_iszero(cpus) && !hwloc_bitmap_iszero(nodes) &&
               hwloc_topology_allow(topology->inner, cpus, nodes, HWLOC_ALLOW_FLAG_CUSTOM) == 0;
    }
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(nodes);
    return good;
}

struct topology *topology_from_xml(const char *xml, size_t length, struct error *err) {
    hwloc_topology_t inner;
    if (length > 4u << 20) {
        FAIL(err, ERROR_DATA, "the topology is over 4 MiB");
        return NULL;
    }
    if (!topology_check(xml, length, err) || !start(&inner, err)) {
        RELAY(err);
        return NULL;
    }
    if (hwloc_topology_set_xmlbuffer(inner, xml, (int)length + 1) != 0) {
        hwloc_topology_destroy(inner);
        FAIL(err, ERROR_DATA, "the topology is no XML of hwloc's");
        return NULL;
    }
    return load(inner, "the topology's XML", err);
}

void topology_free(struct topology *topology) {
    if (topology == NULL)
        return;
    hwloc_topology_destroy(topology->inner);
    free(topology);
}

char *topology_xml(const struct topology *topology, struct error *err) {
    char *buffer = NULL;
    int length = 0;
    setenv("HWLOC_LIBXML_EXPORT", "0", 1);
    if (hwloc_topology_export_xmlbuffer(topology->inner, &buffer, &length, 0) != 0) {
        FAIL(err, ERROR_SYSTEM, "hwloc cannot export the topology");
        return NULL;
    }
    char *copy = mem_copy_bytes(buffer, length > 0 ? (size_t)length - 1 : 0);
    hwloc_free_xmlbuffer(topology->inner, buffer);
    return copy;
}

/* ---- nodes ---- */

static hwloc_obj_t node_at(const struct topology *topology, int node) {
    return node < 0 ? NULL : hwloc_get_obj_by_type(topology->inner, HWLOC_OBJ_NUMANODE, (unsigned)node);
}

int topology_node_count(const struct topology *topology) {
    int n = hwloc_get_nbobjs_by_type(topology->inner, HWLOC_OBJ_NUMANODE);
    return n > 0 ? n : 1;
}

int topology_socket_count(const struct topology *topology) {
    int n = hwloc_get_nbobjs_by_type(topology->inner, HWLOC_OBJ_PACKAGE);
    return n > 0 ? n : 1;
}

int topology_node_socket(const struct topology *topology, int node) {
    hwloc_obj_t found = node_at(topology, node);
    hwloc_obj_t package =
        found != NULL ? hwloc_get_ancestor_obj_by_type(topology->inner, HWLOC_OBJ_PACKAGE, found) : NULL;
    return package != NULL ? (int)package->logical_index : 0;
}

int topology_node_os_index(const struct topology *topology, int node) {
    hwloc_obj_t found = node_at(topology, node);
    return found != NULL ? (int)found->os_index : -1;
}

int topology_node_logical(const struct topology *topology, int os_index) {
    hwloc_obj_t found =
        os_index < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(topology->inner, (unsigned)os_index);
    return found != NULL ? (int)found->logical_index : -1;
}

bool topology_node_memory_allowed(const struct topology *topology, int node) {
    hwloc_obj_t found = node_at(topology, node);
    return found != NULL &&
           hwloc_bitmap_isset(hwloc_topology_get_allowed_nodeset(topology->inner), found->os_index);
}

static hwloc_obj_t device(const struct topology *topology, const char *bdf) {
    return hwloc_get_pcidev_by_busidstring(topology->inner, bdf);
}

int topology_device_node(const struct topology *topology, const char *bdf) {
    hwloc_obj_t found = device(topology, bdf);
    hwloc_obj_t above = found == NULL ? NULL : hwloc_get_non_io_ancestor_obj(topology->inner, found);
    if (above == NULL)
        return -1;
    /* A device below the whole machine is near no node in particular, unless there is only one. */
    int nodes = hwloc_get_nbobjs_by_type(topology->inner, HWLOC_OBJ_NUMANODE);
    if (nodes <= 1)
        return nodes == 1 ? 0 : -1;
    if (above->nodeset == NULL || hwloc_bitmap_weight(above->nodeset) >= nodes)
        return -1;
    return topology_node_logical(topology, hwloc_bitmap_first(above->nodeset));
}

static bool same_socket(const struct topology *topology, int a, int b) {
    hwloc_obj_t x = node_at(topology, a);
    hwloc_obj_t y = node_at(topology, b);
    hwloc_obj_t p = x == NULL ? NULL : hwloc_get_ancestor_obj_by_type(topology->inner, HWLOC_OBJ_PACKAGE, x);
    return p != NULL && y != NULL &&
           p == hwloc_get_ancestor_obj_by_type(topology->inner, HWLOC_OBJ_PACKAGE, y);
}

/* The SLIT's value, or a stand-in that keeps its order: itself, same socket, other sockets. */
static uint64_t distance(const struct topology *topology, int from, int to) {
    struct hwloc_distances_s *matrix = NULL;
    unsigned n = 1;
    uint64_t value = from == to ? 10 : same_socket(topology, from, to) ? 12 : 32;
    if (hwloc_distances_get_by_type(topology->inner, HWLOC_OBJ_NUMANODE, &n, &matrix,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        n == 0)
        return value;
    int i = hwloc_distances_obj_index(matrix, node_at(topology, from));
    int j = hwloc_distances_obj_index(matrix, node_at(topology, to));
    if (i >= 0 && j >= 0)
        value = matrix->values[(unsigned)i * matrix->nbobjs + (unsigned)j];
    hwloc_distances_release(topology->inner, matrix);
    return value;
}

void topology_nodes_by_distance(const struct topology *topology, int node, int *out) {
    int n = topology_node_count(topology);
    for (int i = 0; i < n; i++)
        out[i] = i;
    for (int i = 1; i < n; i++) /* insertion: few nodes, and equal distances keep their order */
        for (int j = i; j > 0; j--) {
            uint64_t a = out[j - 1] == node ? 0 : distance(topology, node, out[j - 1]);
            uint64_t b = out[j] == node ? 0 : distance(topology, node, out[j]);
            if (a <= b)
                break;
            int swap = out[j];
            out[j] = out[j - 1];
            out[j - 1] = swap;
        }
}

/* ---- cores ---- */

/* The first allowed PU of a core, -1 when the cpuset has none of it. */
static int core_cpu(const struct topology *topology, hwloc_obj_t core) {
    hwloc_bitmap_t both = hwloc_bitmap_alloc();
    int cpu = -1;
    if (both != NULL) {
        hwloc_bitmap_and(both, core->cpuset, hwloc_topology_get_allowed_cpuset(topology->inner));
        cpu = hwloc_bitmap_first(both);
    }
    hwloc_bitmap_free(both);
    return cpu;
}

/* Machines (and captures) may hide cores: then each PU counts as one. */
static hwloc_obj_type_t core_type(const struct topology *topology) {
    return hwloc_get_nbobjs_by_type(topology->inner, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

int topology_all_cores(const struct topology *topology, int *out, int capacity) {
    hwloc_obj_type_t type = core_type(topology);
    int n = 0;
    for (hwloc_obj_t core = hwloc_get_obj_by_type(topology->inner, type, 0); core != NULL && n < capacity;
         core = core->next_cousin) {
        int cpu = core_cpu(topology, core);
        if (cpu >= 0)
            out[n++] = cpu;
    }
    return n;
}

enum { MAX_CORES = 4096 };

int topology_core_count(const struct topology *topology) {
    int cores[MAX_CORES];
    return topology_all_cores(topology, cores, MAX_CORES);
}

int topology_cpu_node(const struct topology *topology, int cpu) {
    for (int node = 0; node < topology_node_count(topology); node++) {
        hwloc_obj_t found = node_at(topology, node);
        if (found != NULL && cpu >= 0 && hwloc_bitmap_isset(found->cpuset, (unsigned)cpu))
            return node;
    }
    return -1;
}

static bool is_on(const struct topology *topology, int cpu, int node) {
    return node < 0 || topology_node_count(topology) == 1 || topology_cpu_node(topology, cpu) == node;
}

int topology_pin_cpu(const struct topology *topology, int node) {
    int cores[MAX_CORES];
    int n = topology_all_cores(topology, cores, MAX_CORES);
    int first = -1;
    for (int i = 0; i < n; i++) {
        if (!is_on(topology, cores[i], node))
            continue;
        if (first >= 0)
            return cores[i];
        first = cores[i];
    }
    return first;
}

int topology_other_cpu(const struct topology *topology, int cpu) {
    int cores[MAX_CORES];
    int n = topology_all_cores(topology, cores, MAX_CORES);
    int node = topology_cpu_node(topology, cpu);
    int before = -1;
    for (int i = 0; i < n; i++) {
        if (cores[i] == cpu || !is_on(topology, cores[i], node))
            continue;
        if (cores[i] > cpu)
            return cores[i];
        before = cores[i];
    }
    return before;
}

static int socket_of(const struct topology *topology, int cpu) {
    hwloc_obj_t pu = cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(topology->inner, (unsigned)cpu);
    hwloc_obj_t package =
        pu == NULL ? NULL : hwloc_get_ancestor_obj_by_type(topology->inner, HWLOC_OBJ_PACKAGE, pu);
    return package != NULL ? (int)package->logical_index : -1;
}

int topology_far_cpu(const struct topology *topology, int cpu) {
    int cores[MAX_CORES];
    int n = topology_all_cores(topology, cores, MAX_CORES);
    int other_node = -1;
    int last = -1;
    for (int i = n - 1; i >= 0; i--) {
        if (cores[i] == cpu)
            continue;
        if (socket_of(topology, cores[i]) != socket_of(topology, cpu))
            return cores[i];
        if (other_node < 0 && topology_cpu_node(topology, cores[i]) != topology_cpu_node(topology, cpu))
            other_node = cores[i];
        if (last < 0)
            last = cores[i];
    }
    return other_node >= 0 ? other_node : last;
}

int topology_node_cores(const struct topology *topology, int node, int *out, int capacity) {
    int cores[MAX_CORES];
    int all = topology_all_cores(topology, cores, MAX_CORES);
    int n = 0;
    for (int i = 0; i < all && n < capacity; i++)
        if (is_on(topology, cores[i], node))
            out[n++] = cores[i];
    return n;
}

bool topology_cpu_allowed(const struct topology *topology, int cpu) {
    return cpu >= 0 &&
           hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(topology->inner), (unsigned)cpu) &&
           hwloc_get_pu_obj_by_os_index(topology->inner, (unsigned)cpu) != NULL;
}

/* ---- caches ---- */

static hwloc_obj_t l3_of(const struct topology *topology, int cpu) {
    hwloc_obj_t pu = cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(topology->inner, (unsigned)cpu);
    return pu == NULL ? NULL : hwloc_get_ancestor_obj_by_type(topology->inner, HWLOC_OBJ_L3CACHE, pu);
}

static enum core_relation relation(const struct topology *topology, int a, int b) {
    if (socket_of(topology, a) != socket_of(topology, b))
        return CORE_OTHER_SOCKET;
    return l3_of(topology, a) == l3_of(topology, b) ? CORE_SAME_COMPLEX : CORE_OTHER_COMPLEX;
}

int topology_related_cpu(const struct topology *topology, int cpu, enum core_relation wanted) {
    int cores[MAX_CORES];
    int n = topology_all_cores(topology, cores, MAX_CORES);
    int first = -1;
    for (int i = 0; i < n; i++) {
        if (cores[i] == cpu || relation(topology, cpu, cores[i]) != wanted)
            continue;
        if (first >= 0)
            return cores[i];
        first = cores[i];
    }
    return first;
}

/* The outermost cache above a PU. */
static hwloc_obj_t last_cache(const struct topology *topology, int cpu) {
    hwloc_obj_t at = cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(topology->inner, (unsigned)cpu);
    hwloc_obj_t found = NULL;
    for (; at != NULL; at = at->parent)
        if (hwloc_obj_type_is_dcache(at->type))
            found = at;
    return found;
}

/* A size beyond any cache's is no size: it comes from a file. */
static int64_t cache_bytes(hwloc_obj_t cache) {
    const hwloc_uint64_t most = 1ULL << 36;
    return cache == NULL || cache->attr->cache.size > most ? 0 : (int64_t)cache->attr->cache.size;
}

int64_t topology_cpu_cache(const struct topology *topology, int cpu) {
    return cache_bytes(last_cache(topology, cpu));
}

int64_t topology_node_cache(const struct topology *topology, int node) {
    int cores[MAX_CORES];
    int n = topology_node_cores(topology, node, cores, MAX_CORES);
    int64_t total = 0;
    hwloc_obj_t before = NULL; /* cores of one cache are neighbours */
    for (int i = 0; i < n; i++) {
        hwloc_obj_t cache = last_cache(topology, cores[i]);
        if (cache != before)
            total += cache_bytes(cache);
        before = cache;
    }
    return total;
}

/* ---- paths ---- */

/* Bridges between two devices below their common one; -1 when they share none but the host's. */
static int bridges_between(hwloc_obj_t a, hwloc_obj_t b) {
    int up = 0;
    for (hwloc_obj_t x = a->parent; x != NULL && hwloc_obj_type_is_io(x->type); x = x->parent, up++) {
        int down = 0;
        bool host = x->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
        for (hwloc_obj_t y = b->parent; y != NULL && hwloc_obj_type_is_io(y->type); y = y->parent, down++)
            if (x == y)
                return host ? -1 : up + down;
    }
    return -1;
}

static hwloc_obj_t host_bridge(hwloc_obj_t device) {
    hwloc_obj_t top = device;
    while (top->parent != NULL && hwloc_obj_type_is_io(top->parent->type))
        top = top->parent;
    return top;
}

const char *topology_path_class(const struct topology *topology, const char *bdf_a, const char *bdf_b) {
    hwloc_obj_t a = device(topology, bdf_a);
    hwloc_obj_t b = device(topology, bdf_b);
    if (a == NULL || b == NULL)
        return "";
    if (a == b)
        return "X";
    int bridges = bridges_between(a, b);
    if (bridges >= 0)
        return bridges <= 2 ? "PIX" : "PXB";
    if (host_bridge(a) == host_bridge(b))
        return "PHB";
    int node = topology_device_node(topology, bdf_a);
    if (node < 0 && topology_node_count(topology) == 1)
        return "NODE";
    return node >= 0 && node == topology_device_node(topology, bdf_b) ? "NODE" : "SYS";
}
