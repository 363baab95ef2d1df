/* The version of the library, and of the header that this program was compiled with. */
#include <prp.h>
#include <stdio.h>

int main(void)
{
    printf("libprp %s, compiled with %s\n", prp_version(), PRP_VERSION);
    return prp_abi_version() == PRP_ABI_VERSION ? 0 : 1;
}
