/* CRD_ASSERT(condition): what can only be false by a mistake of our own, never by a file, a setting or a machine (those
 * are errors: base/error.h). It stops the builds that look for mistakes (CREDENCE_ASSERTIONS: debug, sanitizers,
 * valgrind, coverage, fuzzing); in a release it costs nothing, but the condition must still compile. */
#ifndef CRD_BASE_ASSERT_H
#define CRD_BASE_ASSERT_H

#ifdef CREDENCE_ASSERTIONS
#undef NDEBUG
#include <assert.h>
#define CRD_ASSERT(condition) assert(condition)
#else
#define CRD_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
