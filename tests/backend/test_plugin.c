/* Plug-ins hand over their tables to the library of their own build only. */
#include <dlfcn.h>

#include "backend/plugin.h"
#include "base/shared_object.h"
#include "dist/transport.h"
#include "harness.h"

/* The entry of a plug-in, or NULL where it is not found: not built, or sanitizers in the way of dlopen. */
static void *entry_of(const char *file, const char *name)
{
    void *handle = crd_shared_object_open(file, false);
    return handle != NULL ? dlsym(handle, name) : NULL;
}

static crd_status fail(crd_status code, const char *file, int line, const char *sentence)
{
    (void)file, (void)line, (void)sentence;
    return code;
}

/* Marks that differ in one thing each. */
enum { OTHERS = 4 };
static void make_others(const crd_build_mark *mark, crd_build_mark others[OTHERS])
{
    for (int i = 0; i < OTHERS; i++) others[i] = *mark;
    others[0].version++;
    others[1].release[0]++;
    others[2].sizes[0] += 8;
    others[3].sizes[2] += 8;
}

static void test_gpu(void)
{
    const crd_plugin_host host = {.mark = CRD_BACKEND_MARK, .fail = fail};
    crd_build_mark others[OTHERS];
    crd_plugin_entry *entry;
    void *symbol = entry_of("libcredence_cuda.so", CRD_PLUGIN_SYMBOL);
    if (symbol == NULL) SKIP("there is no libcredence_cuda.so here");
    memcpy(&entry, &symbol, sizeof entry);
    make_others(&host.mark, others);
    for (int i = 0; i < OTHERS; i++) CHECK(entry(&(crd_plugin_host){.mark = others[i], .fail = fail}) == NULL);
    CHECK(entry(&host) != NULL);
}

static void test_mpi(void)
{
    const crd_transport_host host = {.mark = CRD_TRANSPORT_MARK, .fail = fail};
    crd_build_mark others[OTHERS];
    crd_transport_entry *entry;
    void *symbol = entry_of("libcredence_mpi.so", CRD_TRANSPORT_SYMBOL);
    if (symbol == NULL) SKIP("there is no libcredence_mpi.so here");
    memcpy(&entry, &symbol, sizeof entry);
    make_others(&host.mark, others);
    for (int i = 0; i < OTHERS; i++) CHECK(entry(&(crd_transport_host){.mark = others[i], .fail = fail}) == NULL);
    CHECK(entry(&host) != NULL);
}

TEST_MAIN(TEST(test_gpu), TEST(test_mpi))
