// Answers what boinc-client asks an NVIDIA driver about its GPUs: one GPU of compute capability 8.9
// with 16 GiB and a driver for CUDA 13. It computes nothing. The client opens it as libcuda.so.
#include <stddef.h>
#include <stdio.h>

static const size_t kMemory = (size_t)16 << 30;

// CUdevice_attribute of cuda.h.
enum {
    kMaxThreadsPerBlock = 1,
    kSharedMemoryPerBlock = 8,
    kWarpSize = 10,
    kRegistersPerBlock = 12,
    kClockKilohertz = 13,
    kMultiprocessors = 16,
    kPciBus = 33,
};

int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}
int cuDeviceGet(int* device, int index) {
    *device = index;
    return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "Played GPU");
    return 0;
}
int cuDeviceComputeCapability(int* major, int* minor, int device) {
    (void)device;
    *major = 8;
    *minor = 9;
    return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    (void)device;
    *bytes = kMemory;
    return 0;
}
int cuDeviceTotalMem(size_t* bytes, int device) {
    return cuDeviceTotalMem_v2(bytes, device);
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    (void)device;
    switch (attribute) {
        case kMaxThreadsPerBlock: *value = 1024; break;
        case kSharedMemoryPerBlock: *value = 49152; break;
        case kWarpSize: *value = 32; break;
        case kRegistersPerBlock: *value = 65536; break;
        case kClockKilohertz: *value = 2500000; break;
        case kMultiprocessors: *value = 76; break;
        case kPciBus: *value = 1; break;
        default: *value = 0; break;
    }
    return 0;
}
int cuCtxCreate(void** context, unsigned flags, unsigned device) {
    (void)flags;
    (void)device;
    *context = (void*)1;
    return 0;
}
int cuCtxDestroy(void* context) {
    (void)context;
    return 0;
}
int cuMemAlloc(unsigned* address, size_t bytes) {
    (void)bytes;
    *address = 1;
    return 0;
}
int cuMemFree(unsigned address) {
    (void)address;
    return 0;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = kMemory - ((size_t)1 << 29);
    *total_bytes = kMemory;
    return 0;
}
int cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return cuMemGetInfo_v2(free_bytes, total_bytes);
}
