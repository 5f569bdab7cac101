/* Stands in for libFuzzer: every file of the folders that are named goes through a fuzz target once, in the order of
 * the names. So each seed, and each input that once broke something, is tried in every build that has sanitizers, by
 * any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        if (file != NULL) fclose(file);
        return 1;
    }
    const long size = ftell(file);
    uint8_t *data =
        size < 0 ? NULL : malloc(size > 0 ? (size_t)size : 1); /* no byte more: the sanitizer sees who reads beyond */
    rewind(file);
    const int code = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size ? 0 : 1;
    fclose(file);
    if (code == 0)
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        fprintf(stderr, "%s can't be read\n", path);
    free(data);
    return code;
}

int main(int argc, char **argv)
{
    int inputs = 0, code = argc > 1 ? 0 : 2;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries = NULL;
        const int count = scandir(argv[i], &entries, visible, alphasort);
        if (count <= 0) {
            fprintf(stderr, "%s: no inputs\n", argv[i]);
            return 1;
        }
        for (int k = 0; k < count; k++) {
            char path[4096];
            const int length = snprintf(path, sizeof path, "%s/%s", argv[i], entries[k]->d_name);
            code |= length < (int)sizeof path ? replay(path) : 1;
            free(entries[k]);
        }
        free(entries);
        inputs += count;
    }
    printf("%d inputs\n", inputs);
    return code;
}
