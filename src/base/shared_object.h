/* Parts of the library that live in shared objects of their own, loaded when they are wanted. */
#ifndef CRD_BASE_SHARED_OBJECT_H
#define CRD_BASE_SHARED_OBJECT_H

#include <limits.h>
#include <stdbool.h>

/* The path of a file that belongs to this library, where the next function would look for it. */
bool crd_shared_object_find(const char *file, char path[PATH_MAX]);

/* `file` is a plain name ("libcredence_cuda.so"), looked for in the folder that CREDENCE_PLUGINS names, beside this
 * library, in the folder "credence" there (where an installation has them), where installations are, and at last where
 * the system looks. The first file of that name is it, also where it can't be loaded. `global` offers its symbols, and
 * those of what it links to, to what is loaded later. NULL where there is none: dlerror() says why. It stays loaded
 * until the program ends: GPU runtimes and MPI don't like to be unloaded. */
void *crd_shared_object_open(const char *file, bool global);

#endif
