// Answers as an NVIDIA driver does until a program begins to use a GPU; or, with PLUGIN_VERSION, as
// a plug-in of that version.
#if defined(PLUGIN_VERSION)

unsigned dedloc_accelerator_version(void) {
    return PLUGIN_VERSION;
}

#else

int cuDriverGetVersion(int* version) {
    *version = DRIVER_VERSION;
    return 0;
}
int cuInit(unsigned flags) {
    (void)flags;
    return INIT_RESULT;
}
int cuDeviceGetCount(int* count) {
    *count = DEVICES;
    return 0;
}

#endif
