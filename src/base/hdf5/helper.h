/* libhdf5 at arm's length: our side.
 *
 * libhdf5 believes what a file says and crashes on some that lie (docs/SECURITY.md). So it doesn't parse files for
 * reading in the process of the user: a small program, credence-hdf5, does (serving.h), in a sandbox (sandbox.h).
 *
 * - It is a program of its own, started by posix_spawn, which copies no memory: it works from any thread, beside MPI
 *   and CUDA, in Python and under sanitizers, none of which is true of a fork that goes on in the same program.
 * - We open the file; the helper gets it as an open file, a socket for orders and answers, and a piece of shared
 *   memory, of which it can't take anything back (sealed).
 * - Nothing that it says is believed: whoever asks checks the answers.
 * - If it dies, hangs (limits on processor time and on waiting) or breaks the rules, that is a sentence.
 *
 * crd_helper_trust(true) lets whoever asks crd_helper_trusted read in the process of the user. */
#ifndef CRD_BASE_HDF5_HELPER_H
#define CRD_BASE_HDF5_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The helper's open files. */
enum { CRD_HELPER_SOCKET = 3, CRD_HELPER_WINDOW = 4, CRD_HELPER_FILE = 5 };
enum { CRD_HELPER_SENTENCE = 1024 };

/* The first bytes that the helper gets: which kind of work it is for, and who asks. A program and a helper of different
 * versions exchange other structs, and would wait for each other: the helper ends with CRD_HELPER_STRANGER where the
 * mark is none that it knows. */
enum { CRD_HELPER_MARK = 64, CRD_HELPER_STRANGER = 4 };
/* `sizes`: of the structs that are exchanged. */
void crd_helper_mark(const char *work, const size_t sizes[3], char mark[CRD_HELPER_MARK]);

/* The answer to the first order and to every other. */
typedef struct crd_helper_answer {
    int status;
    char sentence[CRD_HELPER_SENTENCE];
} crd_helper_answer;

typedef struct crd_helper crd_helper;

/* Opens `file` and starts the helper for it. `shown`, which is borrowed, is what sentences call it. */
crd_status crd_helper_start(const char *file, const char *shown, const char mark[CRD_HELPER_MARK], crd_helper **out);
void crd_helper_close(crd_helper **helper);

/* The file, open for reading, and its length when it was opened. */
int crd_helper_file(const crd_helper *helper);
int64_t crd_helper_length(const crd_helper *helper);

/* Sends `order`, and takes the answer and, where that is good, what follows it. */
crd_status crd_helper_ask(crd_helper *helper, const void *order, size_t order_bytes, void *result, size_t result_bytes);

/* At least so much shared memory, here. The helper maps it when it hears of it. */
crd_status crd_helper_widen(crd_helper *helper, int64_t bytes);
int64_t crd_helper_window_bytes(const crd_helper *helper);
const char *crd_helper_window(const crd_helper *helper);

/* A copy of this process made by fork has no helper: was it made, and start one for it. The first order is then to be
 * given again. */
bool crd_helper_left_behind(const crd_helper *helper);
crd_status crd_helper_start_again(crd_helper *helper);

void crd_helper_trust(bool trust);
bool crd_helper_trusted(void);

#endif
