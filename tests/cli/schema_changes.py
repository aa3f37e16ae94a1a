# SPDX-License-Identifier: Apache-2.0
"""One change to a document, for tests that a schema refuses it."""
import copy

GONE = object()


def changed(document, path, value):
    """A copy in which `path` has another value, or is not there (GONE)."""
    broken = copy.deepcopy(document)
    at = broken
    for step in path[:-1]:
        at = at[step]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return broken
