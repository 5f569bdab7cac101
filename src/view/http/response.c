#include "view/http/response.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

static void release_block(void **owner)
{
    crd_free(owner);
}

void crd_response_free(crd_response *response)
{
    if (response->release != NULL) response->release(&response->owner);
    *response = (crd_response){0};
}

void crd_response_bytes(crd_response *response, const char *type, uint8_t **bytes, int64_t count)
{
    response->status = 200;
    response->type = type;
    response->bytes = *bytes;
    response->count = count;
    response->owner = *bytes;
    response->release = release_block;
    *bytes = NULL;
}

void crd_response_json(crd_response *response, int status, crd_text *text)
{
    char *words = NULL;
    const int64_t length = text->length;
    if (crd_text_finish(text, &words) != CRD_OK) {
        *response = (crd_response){.status = 500};
        return;
    }
    *response = (crd_response){.status = status,
                               .type = "application/json",
                               .bytes = words,
                               .count = length,
                               .owner = words,
                               .release = release_block};
}

void crd_response_error(crd_response *response, int status, const char *code, const char *format, ...)
{
    char sentence[1200];
    crd_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    crd_response_free(response);
    crd_text_add(&text, "{\"error\":{\"code\":");
    crd_text_json(&text, code);
    crd_text_add(&text, ",\"message\":");
    crd_text_json(&text, sentence);
    crd_text_add(&text, "}}\n");
    crd_response_json(response, status, &text);
}

void crd_response_failed(crd_response *response)
{
    const crd_error *error = crd_last_error();
    const bool ours = error->status == CRD_ERR_MEMORY || error->status == CRD_ERR_INTERNAL;
    crd_response_error(response, ours ? 500 : 422, crd_status_name(error->status), "%s", error->message);
}
