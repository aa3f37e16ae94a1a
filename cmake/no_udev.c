/* SPDX-License-Identifier: Apache-2.0 */
/* For the portable program: libhwloc.a calls these five functions of libudev to learn the serial numbers of
 * block devices, which nothing here asks for, and libudev comes without an archive. They answer "nothing", as
 * they do on a machine where udev does not run. */
#include <stddef.h>
#include <stdlib.h>

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *sysname);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);
struct udev_device *udev_device_unref(struct udev_device *device);

struct udev *udev_new(void) {
    return NULL;
}

struct udev *udev_unref(struct udev *udev) {
    (void)udev;
    return NULL;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *sysname) {
    (void)udev;
    (void)subsystem;
    (void)sysname;
    return NULL;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key) {
    (void)device;
    (void)key;
    return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *device) {
    (void)device;
    return NULL;
}

/* hwloc would load plugins from the folder of the distribution it was built on; those of another hwloc bring
 * a second copy of the library along. What gpuvet needs (PCI by sysfs, XML) is built in. */
__attribute__((constructor)) static void no_plugins(void) {
    setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0);
}
