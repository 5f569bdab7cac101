#include <stdio.h>

#include "credence/status.h"

int main(void)
{
    printf("credence %s\n", crd_version());
    return 0;
}
