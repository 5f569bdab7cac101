#include "view/http/key.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "base/memory.h"

crd_status crd_private_folder(char **out)
{
    crd_status status = CRD_OK;
    struct stat about;
    char *path = NULL;
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    if (runtime != NULL && runtime[0] == '/') {
        CRD_TRY(crd_join_path(runtime, "credence", "", &path));
    } else if (home != NULL && home[0] == '/') {
        CRD_TRY(crd_join_path(home, ".cache/credence/private", "", &path));
    } else {
        CRD_FAIL(CRD_ERR_SYSTEM, "neither XDG_RUNTIME_DIR nor HOME names a folder of yours");
    }
    CRD_TRY(crd_make_folders(path));
    if (lstat(path, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) {
        CRD_FAIL(CRD_ERR_SYSTEM, "%s isn't a folder of yours", path);
    }
    if (chmod(path, 0700) != 0) {
        status = crd_fail_errno("can't keep others out of %s", path);
        goto done;
    }
    *out = path;
    path = NULL;
done:
    crd_free(&path);
    return status;
}

static crd_status draw(char key[CRD_KEY_BYTES])
{
    unsigned char bytes[(CRD_KEY_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return crd_fail_errno("the system gives no random numbers for a key");
    }
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return CRD_OK;
}

/* A file of ours that nobody else could have read or written. */
static bool read_key(const char *path, char key[CRD_KEY_BYTES])
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool good = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                (about.st_mode & 077) == 0 && read(fd, key, CRD_KEY_BYTES - 1) == CRD_KEY_BYTES - 1;
    if (fd >= 0) (void)close(fd);
    key[CRD_KEY_BYTES - 1] = '\0';
    return good && strspn(key, "0123456789abcdef") == CRD_KEY_BYTES - 1;
}

static void write_key(const char *path, const char key[CRD_KEY_BYTES])
{
    (void)unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    if (write(fd, key, CRD_KEY_BYTES - 1) != CRD_KEY_BYTES - 1) (void)unlink(path);
    (void)close(fd);
}

crd_status crd_key_make(const char *scan, int port, char key[CRD_KEY_BYTES])
{
    crd_status status = CRD_OK;
    char *folder = NULL, *path = NULL, name[CRD_SHA256_TEXT + 16], digest[CRD_SHA256_TEXT];
    crd_sha256 hash;
    if (crd_private_folder(&folder) != CRD_OK) return draw(key);
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, scan, strlen(scan));
    crd_sha256_end(&hash, digest);
    snprintf(name, sizeof name, "view-%.16s-%d", digest, port);
    CRD_TRY(crd_join_path(folder, name, "", &path));
    if (!read_key(path, key)) {
        CRD_TRY(draw(key));
        write_key(path, key);
    }
done:
    crd_free(&folder);
    crd_free(&path);
    return status;
}
