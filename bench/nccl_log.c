/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, MAX_RANK = 4095, MAX_CHANNEL = 127 };

/* Moves `at` behind `word`; false, and nothing moved, where it does not stand there. Blanks before it are
 * passed. */
static bool take(const char **at, const char *word) {
    const char *s = *at;
    while (*s == ' ')
        s++;
    if (strncmp(s, word, strlen(word)) != 0)
        return false;
    *at = s + strlen(word);
    return true;
}

static bool take_number(const char **at, int most, int *out) {
    const char *s = *at;
    char *end = NULL;
    while (*s == ' ')
        s++;
    if (!isdigit((unsigned char)*s))
        return false;
    long value = strtol(s, &end, 10);
    if (value < 0 || value > most)
        return false;
    *out = (int)value;
    *at = end;
    return true;
}

/* "0[0]", "1[1c000]": a rank, and its device, which is passed over. */
static bool take_rank(const char **at, int *out) {
    if (!take_number(at, MAX_RANK, out) || **at != '[')
        return false;
    const char *end = strchr(*at, ']');
    if (end == NULL || end - *at > 24)
        return false;
    *at = end + 1;
    return true;
}

static struct nccl_log_pair *pair_of(struct nccl_log *log, int from, int to) {
    for (int i = 0; i < log->n_pairs; i++)
        if (log->pairs[i].from == from && log->pairs[i].to == to)
            return &log->pairs[i];
    if (log->n_pairs == NCCL_LOG_PAIRS)
        return NULL;
    struct nccl_log_pair *pair = &log->pairs[log->n_pairs++];
    *pair = (struct nccl_log_pair){.from = from, .to = to};
    return pair;
}

static void take_transport(const char *at, char out[NCCL_LOG_WORD]) {
    size_t n = 0;
    while (*at == ' ')
        at++;
    while (n + 1 < NCCL_LOG_WORD && isgraph((unsigned char)at[n])) {
        out[n] = at[n];
        n++;
    }
    out[n] = '\0';
}

/* "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"; the second number, where there is one, is 1 for the channels
 * of send and receive, which are not counted; "[receive]" is the other end of a line that has "[send]". */
static void read_channel(const char *at, struct nccl_log *log) {
    int channel = 0, kind = 0, from = 0, to = 0;
    char word[NCCL_LOG_WORD];
    if (!take(&at, "Channel ") || !take_number(&at, MAX_CHANNEL, &channel))
        return;
    if (*at == '/') {
        at++;
        if (!take_number(&at, MAX_RANK, &kind))
            return;
    }
    if (!take(&at, ":") || !take_rank(&at, &from) || !take(&at, "->") || !take_rank(&at, &to) || kind != 0)
        return;
    if (take(&at, "[receive]"))
        return;
    take(&at, "[send]");
    if (!take(&at, "via "))
        return;
    take_transport(at, word);
    struct nccl_log_pair *pair = word[0] == '\0' ? NULL : pair_of(log, from, to);
    if (pair == NULL)
        return;
    if (pair->transport[0] == '\0')
        memcpy(pair->transport, word, sizeof pair->transport);
    pair->mixed = pair->mixed || strcmp(pair->transport, word) != 0;
    pair->channels[channel / 64] |= UINT64_C(1) << (channel % 64);
}

/* The number before `words`; -1: they are not there. */
static int number_before(const char *line, const char *words) {
    const char *found = strstr(line, words);
    if (found == NULL)
        return -1;
    const char *digits = found;
    while (digits > line && isdigit((unsigned char)digits[-1]))
        digits--;
    return digits == found || found - digits > 4 ? -1 : atoi(digits);
}

static void read_summary(const char *line, struct nccl_log *log) {
    int collective = number_before(line, " coll channels");
    if (collective < 0)
        return;
    log->collective = collective;
    log->nvls = number_before(line, " nvls channels");
    log->peer = number_before(line, " p2p channels");
}

void nccl_log_read(const char *text, size_t length, struct nccl_log *out) {
    *out = (struct nccl_log){.collective = -1, .nvls = -1, .peer = -1};
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
        char line[LINE];
        size_t kept = n < sizeof line - 1 ? n : sizeof line - 1;
        memcpy(line, text + at, kept);
        line[kept] = '\0'; /* what stands behind a zero byte is not seen */
        const char *channel = strstr(line, "Channel ");
        if (channel != NULL)
            read_channel(channel, out);
        read_summary(line, out);
        at += n + 1;
    }
}

int nccl_log_channels(const struct nccl_log_pair *pair) {
    return __builtin_popcountll(pair->channels[0]) + __builtin_popcountll(pair->channels[1]);
}
