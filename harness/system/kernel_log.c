/* SPDX-License-Identifier: Apache-2.0 */
#include "system/kernel_log.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

enum { MAX_EVENTS = 16384, MAX_MESSAGE = 2048, MAX_JOINED = 6, MAX_BETWEEN = 8, MAX_LIVE = 8 << 20 };

/* ---- lines ---- */

/* Past "<6>", "[  12.345678] ", "[Sat Jan 31 12:00:00 2026] ", "2026-01-31T12:00:00,123456+00:00 " and
 * "Jan 31 12:00:00 name kernel: ". */
static const char *skip_prefix(const char *s, double *seconds) {
    *seconds = -1;
    if (s[0] == '<' && isdigit((unsigned char)s[1])) {
        const char *end = s + 1 + strspn(s + 1, "0123456789");
        s = *end == '>' ? end + 1 : s;
    }
    const char *close = s[0] == '[' ? strchr(s, ']') : NULL;
    if (close != NULL && close - s < 40) {
        char *end = NULL;
        double value = strtod(s + 1, &end);
        if (end == close && value >= 0 && value < 1e12)
            *seconds = value;
        s = close + 1;
        return s + strspn(s, " ");
    }
    if (isdigit((unsigned char)s[0]) && strlen(s) > 20 && s[4] == '-' && s[10] == 'T')
        s += strcspn(s, " ");
    const char *kernel = strstr(s, " kernel: ");
    bool named = kernel != NULL && kernel - s < 120;
    if (named)
        s = kernel + strlen(" kernel: ");
    s += strspn(s, " ");
    double inner = -1;
    if (named && s[0] == '[')
        s = skip_prefix(s, &inner);
    *seconds = inner;
    return s;
}

struct message {
    char text[MAX_MESSAGE];
    double seconds;
};

static void take_message(const char *line, size_t length, struct message *out) {
    char raw[MAX_MESSAGE + 128];
    length = length < sizeof raw - 1 ? length : sizeof raw - 1;
    memcpy(raw, line, length);
    raw[length] = '\0';
    char *end = raw + length;
    while (end > raw && isspace((unsigned char)end[-1]))
        *--end = '\0';
    snprintf(out->text, sizeof out->text, "%.*s", MAX_MESSAGE - 1, skip_prefix(raw, &out->seconds));
}

/* A message that the driver prints over several lines, each with its own NVRM. */
static bool opens(const char *text) {
    return text_starts(text, "NVRM: API mismatch:") || text_starts(text, "NVRM: The NVIDIA GPU ") ||
           text_starts(text, "NVRM: The NVIDIA probe routine");
}

static bool continues(const char *text, const char **rest) {
    static const char nvrm[] = "NVRM:";
    if (!text_starts(text, nvrm))
        return false;
    const char *s = text + strlen(nvrm);
    s += strspn(s, " \t");
    *rest = s;
    return (islower((unsigned char)*s) || *s == '(') && !text_starts(s, "nv") && !text_starts(s, "loading");
}

/* ---- parts of a message ---- */

/* The first PCI address in `text`: "0000:03:00.0", "PCI:0000:03:00" (which has no function). */
static bool find_bdf(const char *text, char out[20]) {
    for (const char *s = text; *s != '\0'; s++) {
        unsigned domain, bus, device, function = 0;
        int n = 0;
        if (!isxdigit((unsigned char)*s) || (s > text && isxdigit((unsigned char)s[-1])) ||
            strspn(s, "0123456789abcdefABCDEF") < 4 || strspn(s, "0123456789abcdefABCDEF") > 8)
            continue;
        if (sscanf(s, "%8x:%2x:%2x%n", &domain, &bus, &device, &n) != 3 || n == 0 || bus > 0xff ||
            device > 0x1f)
            continue;
        if (s[n] == '.' && s[n + 1] >= '0' && s[n + 1] <= '7')
            function = (unsigned)(s[n + 1] - '0');
        snprintf(out, 20, "%04x:%02x:%02x.%u", domain, bus, device, function);
        return true;
    }
    out[0] = '\0';
    return false;
}

/* The run of digits and dots after `before`. NULL: none. */
static char *version_after(const char *text, const char *before) {
    const char *s = strstr(text, before);
    if (s == NULL)
        return NULL;
    s += strlen(before);
    s += strspn(s, " ");
    size_t length = strspn(s, "0123456789.");
    while (length > 0 && s[length - 1] == '.')
        length--;
    return length > 0 && length < 40 ? mem_copy_bytes(s, length) : NULL;
}

static int number_after(const char *text, const char *before) {
    const char *s = strstr(text, before);
    if (s == NULL)
        return -1;
    s += strlen(before);
    s += strspn(s, " ");
    char *end = NULL;
    long value = strtol(s, &end, 10);
    return end != s && value >= 0 && value <= 1000000000 ? (int)value : -1;
}

static struct kernel_event *add(struct kernel_log *log, enum kernel_event_kind kind,
                                const struct message *message) {
    log->items = mem_grow(log->items, log->count, &log->capacity, sizeof *log->items);
    struct kernel_event *event = &log->items[log->count++];
    *event = (struct kernel_event){.kind = kind, .seconds = message->seconds, .code = -1};
    event->text = text_printable(message->text);
    find_bdf(message->text, event->bdf);
    return event;
}

/* ---- kinds ---- */

/* "NVRM: Xid (PCI:0000:03:00): 79, …", "NVRM: Xid: 154, …" */
static bool take_xid(struct kernel_log *log, const struct message *message) {
    const char *xid = strstr(message->text, "NVRM: Xid");
    if (xid == NULL)
        return false;
    const char *s = xid + strlen("NVRM: Xid");
    s += strspn(s, " ");
    const char *close = *s == '(' ? strchr(s, ')') : s;
    int code = close == NULL ? -1 : number_after(close, ":");
    if (code >= 0)
        add(log, EVENT_XID, message)->code = code;
    return code >= 0;
}

static bool take_firmware(struct kernel_log *log, const struct message *message) {
    const char *direct = strstr(message->text, "Direct firmware load for nvidia/");
    bool own = strstr(message->text, "RmFetchGspRmImages: No firmware image found") != NULL;
    if (direct == NULL && !own)
        return false;
    struct kernel_event *event = add(log, EVENT_NO_FIRMWARE, message);
    const char *file = direct == NULL ? "" : direct + strlen("Direct firmware load for ");
    event->first = mem_copy_bytes(file, strcspn(file, " "));
    event->code = direct == NULL ? -1 : number_after(file, "failed with error -");
    return true;
}

/* "PCIe Bus Error: severity=Uncorrectable (Fatal), type=…" */
static bool take_aer(struct kernel_log *log, const struct message *message) {
    static const char mark[] = "PCIe Bus Error: severity=";
    const char *s = strstr(message->text, mark);
    if (s == NULL)
        return false;
    s += strlen(mark);
    struct kernel_event *event = add(log, EVENT_AER, message);
    event->first = mem_copy_bytes(s, strcspn(s, ","));
    return true;
}

static bool take_mismatch(struct kernel_log *log, const struct message *message) {
    const char *text = message->text;
    char *client =
        strstr(text, "API mismatch") == NULL ? NULL : version_after(text, "client has the version");
    char *module = client == NULL ? NULL : version_after(text, "kernel module has the version");
    if (module != NULL) {
        struct kernel_event *event = add(log, EVENT_API_MISMATCH, message);
        event->first = client;
        event->second = module;
        return true;
    }
    free(client);
    return false;
}

static bool take_fabric(struct kernel_log *log, const struct message *message) {
    char *manager = version_after(message->text, "GPU driver interface version");
    char *driver = version_after(message->text, "match with driver version");
    bool found = manager != NULL && driver != NULL;
    if (found) {
        struct kernel_event *event = add(log, EVENT_FABRIC_VERSION, message);
        event->first = manager;
        event->second = driver;
    } else {
        free(manager);
        free(driver);
    }
    return found;
}

/* "__vm_enough_memory: pid 4711, comm: nvc:[driver], bytes: 8589934592 not enough memory …" */
static bool take_commit(struct kernel_log *log, const struct message *message) {
    if (strstr(message->text, "__vm_enough_memory:") == NULL ||
        strstr(message->text, "not enough memory") == NULL)
        return false;
    struct kernel_event *event = add(log, EVENT_NO_COMMIT, message);
    const char *command = strstr(message->text, "comm: ");
    const char *bytes = strstr(message->text, "bytes: ");
    if (command != NULL)
        event->first = mem_copy_bytes(command + 6, strcspn(command + 6, ","));
    if (bytes != NULL)
        event->code = (int)((strtoull(bytes + 7, NULL, 10) >> 20) & 0x7fffffff);
    return true;
}

static bool take_init(struct kernel_log *log, const struct message *message) {
    const char *s = strstr(message->text, "RmInitAdapter failed!");
    if (s == NULL)
        return false;
    struct kernel_event *event = add(log, EVENT_INIT_FAILED, message);
    const char *open = strchr(s, '(');
    event->first =
        open == NULL ? NULL : mem_copy_bytes(open, strcspn(open, ")") + (strchr(open, ')') != NULL));
    return true;
}

/* "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:26b5) installed in this system …" */
static bool take_gpu(struct kernel_log *log, const struct message *message) {
    static const struct {
        const char *words;
        enum kernel_event_kind kind;
    } rows[] = {{"fallen off the bus", EVENT_FALLEN_OFF},
                {"requires use of the NVIDIA open kernel modules", EVENT_OPEN_REQUIRED},
                {"is not supported", EVENT_UNSUPPORTED},
                {"Legacy drivers", EVENT_UNSUPPORTED}};
    if (!text_starts(message->text, "NVRM: "))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(message->text, rows[i].words) != NULL) {
            add(log, rows[i].kind, message);
            return true;
        }
    return false;
}

static bool take_module(struct kernel_log *log, const struct message *message) {
    static const struct {
        const char *words;
        enum kernel_event_kind kind;
    } rows[] = {{"Loading of module with unavailable key is rejected", EVENT_MODULE_REJECTED},
                {"Loading of unsigned module is rejected", EVENT_MODULE_REJECTED},
                {"Key was rejected by service", EVENT_MODULE_REJECTED},
                {"unsigned module loading is restricted", EVENT_MODULE_REJECTED},
                {"nvidia: version magic ", EVENT_MODULE_MISFIT},
                {"nvidia: disagrees about version of symbol", EVENT_MODULE_MISFIT},
                {"nvidia: Unknown symbol", EVENT_MODULE_MISFIT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(message->text, rows[i].words) != NULL) {
            add(log, rows[i].kind, message);
            return true;
        }
    return false;
}

/* "DMAR: [DMA Read NO_PASID] Request device [41:00.0] fault addr …", in domain 0, or AMD's, which names the
 * device in full. */
static bool take_page_fault(struct kernel_log *log, const struct message *message) {
    const char *intel = strstr(message->text, "DMAR: [DMA ");
    const char *name = intel == NULL ? NULL : strstr(intel, "evice [");
    unsigned bus, device, function;
    if (intel == NULL && strstr(message->text, "IO_PAGE_FAULT") == NULL)
        return false;
    struct kernel_event *event = add(log, EVENT_IO_PAGE_FAULT, message);
    if (name != NULL && sscanf(name, "evice [%4x:%4x.%1x]", &bus, &device, &function) == 3 && bus <= 0xff &&
        device <= 0x1f && function <= 7)
        snprintf(event->bdf, sizeof event->bdf, "0000:%02x:%02x.%x", bus, device, function);
    return true;
}

static bool take_rest(struct kernel_log *log, const struct message *message) {
    const char *text = message->text;
    int bar = strstr(text, "can't assign; no space") != NULL ? number_after(text, " BAR ") : -1;
    if (bar >= 0)
        add(log, EVENT_BAR_NO_SPACE, message)->code = bar;
    else if (strcmp(text, "PM: suspend exit") == 0 ||
             strcmp(text, "PM: hibernation: hibernation exit") == 0 ||
             strcmp(text, "PM: hibernation exit") == 0 ||
             strstr(text, "Waking up from system sleep state S") != NULL)
        add(log, EVENT_RESUMED, message);
    else if (strstr(text, "nvidia-uvm: Loaded the UVM driver") != NULL)
        add(log, EVENT_UVM_LOADED, message);
    else if (text_starts(text, "nouveau ") && strstr(text, ": NVIDIA ") != NULL)
        add(log, EVENT_NOUVEAU, message);
    else
        return false;
    return true;
}

static void take(struct kernel_log *log, const struct message *message) {
    static bool (*const kinds[])(struct kernel_log *, const struct message *) = {
        take_xid,    take_mismatch, take_firmware, take_init,       take_gpu, take_aer,
        take_fabric, take_commit,   take_module,   take_page_fault, take_rest};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i](log, message))
            return;
}

/* ---- the whole ---- */

static void append(struct message *open, const char *rest) {
    size_t length = strlen(open->text);
    snprintf(open->text + length, sizeof open->text - length, " %s", rest);
}

void kernel_log_parse(const char *text, struct kernel_log *out) {
    struct message open = {.text = ""}, message;
    int joined = 0, between = 0;
    *out = (struct kernel_log){.known = true};
    while (*text != '\0' && out->count < MAX_EVENTS) {
        size_t length = strcspn(text, "\n");
        const char *rest = NULL;
        take_message(text, length, &message);
        text += length + (text[length] == '\n');
        if (open.text[0] != '\0' && continues(message.text, &rest) && joined < MAX_JOINED) {
            append(&open, rest);
            joined++;
            continue;
        }
        /* Other devices' lines may stand between; the driver's next message ends this one. */
        bool own = text_starts(message.text, "NVRM:");
        if (open.text[0] != '\0' && (own || ++between > MAX_BETWEEN)) {
            take(out, &open);
            open.text[0] = '\0';
        }
        if (opens(message.text)) {
            open = message;
            joined = between = 0;
        } else {
            take(out, &message);
        }
    }
    if (open.text[0] != '\0')
        take(out, &open);
}

/* One record of /dev/kmsg: "6,339,5140900,-;NET: Registered …\n KEY=value\n" */
static void add_record(char *record, struct text *out) {
    char *end = strchr(record, '\n');
    char *semicolon = strchr(record, ';');
    unsigned priority = 0;
    unsigned long long number = 0, microseconds = 0;
    if (end != NULL)
        *end = '\0';
    if (semicolon != NULL && sscanf(record, "%u,%llu,%llu", &priority, &number, &microseconds) == 3)
        text_addf(out, "[%llu.%06llu] %s\n", microseconds / 1000000, microseconds % 1000000, semicolon + 1);
}

static bool read_kmsg(struct text *out) {
    char record[8192];
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    bool good = true, more = true;
    while (more && out->length < MAX_LIVE) {
        ssize_t n = read(fd, record, sizeof record - 1);
        if (n > 0) {
            record[n] = '\0';
            add_record(record, out);
        } else if (n == 0 || errno == EAGAIN) {
            more = false;
        } else if (errno != EPIPE && errno != EINTR) { /* EPIPE: overwritten meanwhile, the next is there */
            good = more = false;
        }
    }
    close(fd);
    return good;
}

static bool read_syslog(struct text *out) {
    enum { READ_ALL = 3, SIZE = 10 };
    int size = klogctl(SIZE, NULL, 0);
    if (size <= 0 || size > MAX_LIVE)
        return false;
    char *buffer = mem_zeroed((size_t)size + 1, 1);
    int n = klogctl(READ_ALL, buffer, size);
    if (n > 0)
        text_add_bytes(out, buffer, (size_t)n);
    free(buffer);
    return n >= 0;
}

bool kernel_log_live(struct text *out) {
    if (read_kmsg(out))
        return true;
    text_clear(out);
    return read_syslog(out);
}

void kernel_log_read(const struct source *source, struct kernel_log *out) {
    struct text text = {0};
    *out = (struct kernel_log){0};
    if (source->kernel_log != NULL)
        kernel_log_parse(source->kernel_log, out);
    else if (source->live && kernel_log_live(&text))
        kernel_log_parse(text_string(&text), out);
    text_free(&text);
}

void kernel_log_free(struct kernel_log *log) {
    for (size_t i = 0; i < log->count; i++) {
        free(log->items[i].first);
        free(log->items[i].second);
        free(log->items[i].text);
    }
    free(log->items);
    *log = (struct kernel_log){0};
}

static bool fits(const struct kernel_event *event, enum kernel_event_kind kind, const char *bdf) {
    return event->kind == kind && (bdf == NULL || strcmp(event->bdf, bdf) == 0);
}

const struct kernel_event *kernel_log_last(const struct kernel_log *log, enum kernel_event_kind kind,
                                           const char *bdf) {
    for (size_t i = log->count; i > 0; i--)
        if (fits(&log->items[i - 1], kind, bdf))
            return &log->items[i - 1];
    return NULL;
}

size_t kernel_log_count(const struct kernel_log *log, enum kernel_event_kind kind, const char *bdf,
                        int code) {
    size_t count = 0;
    for (size_t i = 0; i < log->count; i++)
        count += fits(&log->items[i], kind, bdf) && (code < 0 || log->items[i].code == code);
    return count;
}
