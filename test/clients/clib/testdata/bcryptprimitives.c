/* The call of a DLL of Windows that Go's runtime needs and Wine 8 lacks. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *buf, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *buf, SIZE_T size) { return SystemFunction036(buf, (ULONG)size); }
