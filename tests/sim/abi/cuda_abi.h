/* cuda_abi.h - the part of cuda.h and cuda_runtime_api.h that the simulated node offers, written out: types and layouts
 * only. With SIM_REAL_HEADERS the real ones are taken instead, so that the compiler compares every definition in cuda/
 * and cudart/ with NVIDIA's declaration (tests/sim/check-abi.t). */
#ifndef SIM_CUDA_ABI_H
#define SIM_CUDA_ABI_H

#ifdef SIM_REAL_HEADERS
#include <cuda.h>
#include <cuda_runtime_api.h>
#undef cuDeviceGetUuid /* the older forms are offered too */
#undef cuGetProcAddress
#else
#include <stddef.h>
#include <stdint.h>

typedef int cudaError_t;
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long cuuint64_t;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct {
    char bytes[16];
} CUuuid;
typedef CUuuid cudaUUID_t;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef struct CUuserObject_st *cudaUserObject_t;
typedef void (*cudaHostFn_t)(void *);
typedef void (*CUhostFn)(void *);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

typedef struct {
    unsigned x, y, z;
} dim3, uint3;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1 };
enum cudaDeviceP2PAttr { cudaDevP2PAttrPerformanceRank = 1 };
enum cudaLimit { cudaLimitStackSize };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaFuncCache { cudaFuncCachePreferNone };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaMemPoolAttr { cudaMemPoolReuseFollowEventDependencies = 1 };
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess,
    cudaDriverEntryPointSymbolNotFound,
    cudaDriverEntryPointVersionNotSufficent
};
typedef int CUdevice_attribute, CUdevice_P2PAttribute, CUpointer_attribute, CUstreamCaptureMode, CUstreamCaptureStatus,
    CUmemPool_attribute, CUlimit, CUfunction_attribute, CUmemAllocationGranularity_flags,
    CUdriverProcAddressQueryResult, CUfunc_cache, CUjit_option;

struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
};
struct cudaMemPoolProps {
    enum cudaMemAllocationType allocType;
    enum cudaMemAllocationHandleType handleTypes;
    struct cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};
struct cudaMemAccessDesc {
    struct cudaMemLocation location;
    int flags;
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
        preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth,
        clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
    int reserved[16];
};
typedef struct cudaIpcMemHandle_st {
    char reserved[64];
} cudaIpcMemHandle_t, CUipcMemHandle;
typedef struct cudaLaunchAttribute_st {
    int id;
    char pad[4];
    char val[64];
} cudaLaunchAttribute;
typedef struct {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;
typedef struct {
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;
typedef struct cudaGraphEdgeData_st {
    unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;
typedef struct {
    struct {
        int type, id;
    } location;
    int flags;
} CUmemAccessDesc;
typedef struct {
    int type, requestedHandleTypes;
    struct {
        int type, id;
    } location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
typedef struct {
    int allocType, handleTypes;
    struct {
        int type, id;
    } location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;
#endif /* SIM_REAL_HEADERS */

/* cudaDeviceProp as it was in 12 (FIELD, OLD) and is in 13 (FIELD, NEW), in order. */
#define DEVICE_PROPERTIES(FIELD, OLD, NEW)                                                                             \
    FIELD(char, name, [256])                                                                                           \
    FIELD(CUuuid, uuid, )                                                                                              \
    FIELD(char, luid, [8])                                                                                             \
    FIELD(unsigned, luidDeviceNodeMask, )                                                                              \
    FIELD(size_t, totalGlobalMem, )                                                                                    \
    FIELD(size_t, sharedMemPerBlock, )                                                                                 \
    FIELD(int, regsPerBlock, )                                                                                         \
    FIELD(int, warpSize, )                                                                                             \
    FIELD(size_t, memPitch, )                                                                                          \
    FIELD(int, maxThreadsPerBlock, )                                                                                   \
    FIELD(int, maxThreadsDim, [3])                                                                                     \
    FIELD(int, maxGridSize, [3])                                                                                       \
    OLD(int, clockRate, )                                                                                              \
    FIELD(size_t, totalConstMem, )                                                                                     \
    FIELD(int, major, )                                                                                                \
    FIELD(int, minor, )                                                                                                \
    FIELD(size_t, textureAlignment, )                                                                                  \
    FIELD(size_t, texturePitchAlignment, )                                                                             \
    OLD(int, deviceOverlap, )                                                                                          \
    FIELD(int, multiProcessorCount, )                                                                                  \
    OLD(int, kernelExecTimeoutEnabled, )                                                                               \
    FIELD(int, integrated, )                                                                                           \
    FIELD(int, canMapHostMemory, )                                                                                     \
    OLD(int, computeMode, )                                                                                            \
    FIELD(int, maxTexture1D, )                                                                                         \
    FIELD(int, maxTexture1DMipmap, )                                                                                   \
    OLD(int, maxTexture1DLinear, )                                                                                     \
    FIELD(int, maxTexture2D, [2])                                                                                      \
    FIELD(int, maxTexture2DMipmap, [2])                                                                                \
    FIELD(int, maxTexture2DLinear, [3])                                                                                \
    FIELD(int, maxTexture2DGather, [2])                                                                                \
    FIELD(int, maxTexture3D, [3])                                                                                      \
    FIELD(int, maxTexture3DAlt, [3])                                                                                   \
    FIELD(int, maxTextureCubemap, )                                                                                    \
    FIELD(int, maxTexture1DLayered, [2])                                                                               \
    FIELD(int, maxTexture2DLayered, [3])                                                                               \
    FIELD(int, maxTextureCubemapLayered, [2])                                                                          \
    FIELD(int, maxSurface1D, )                                                                                         \
    FIELD(int, maxSurface2D, [2])                                                                                      \
    FIELD(int, maxSurface3D, [3])                                                                                      \
    FIELD(int, maxSurface1DLayered, [2])                                                                               \
    FIELD(int, maxSurface2DLayered, [3])                                                                               \
    FIELD(int, maxSurfaceCubemap, )                                                                                    \
    FIELD(int, maxSurfaceCubemapLayered, [2])                                                                          \
    FIELD(size_t, surfaceAlignment, )                                                                                  \
    FIELD(int, concurrentKernels, )                                                                                    \
    FIELD(int, ECCEnabled, )                                                                                           \
    FIELD(int, pciBusID, )                                                                                             \
    FIELD(int, pciDeviceID, )                                                                                          \
    FIELD(int, pciDomainID, )                                                                                          \
    FIELD(int, tccDriver, )                                                                                            \
    FIELD(int, asyncEngineCount, )                                                                                     \
    FIELD(int, unifiedAddressing, )                                                                                    \
    OLD(int, memoryClockRate, )                                                                                        \
    FIELD(int, memoryBusWidth, )                                                                                       \
    FIELD(int, l2CacheSize, )                                                                                          \
    FIELD(int, persistingL2CacheMaxSize, )                                                                             \
    FIELD(int, maxThreadsPerMultiProcessor, )                                                                          \
    FIELD(int, streamPrioritiesSupported, )                                                                            \
    FIELD(int, globalL1CacheSupported, )                                                                               \
    FIELD(int, localL1CacheSupported, )                                                                                \
    FIELD(size_t, sharedMemPerMultiprocessor, )                                                                        \
    FIELD(int, regsPerMultiprocessor, )                                                                                \
    FIELD(int, managedMemory, )                                                                                        \
    FIELD(int, isMultiGpuBoard, )                                                                                      \
    FIELD(int, multiGpuBoardGroupID, )                                                                                 \
    FIELD(int, hostNativeAtomicSupported, )                                                                            \
    OLD(int, singleToDoublePrecisionPerfRatio, )                                                                       \
    FIELD(int, pageableMemoryAccess, )                                                                                 \
    FIELD(int, concurrentManagedAccess, )                                                                              \
    FIELD(int, computePreemptionSupported, )                                                                           \
    FIELD(int, canUseHostPointerForRegisteredMem, )                                                                    \
    FIELD(int, cooperativeLaunch, )                                                                                    \
    OLD(int, cooperativeMultiDeviceLaunch, )                                                                           \
    FIELD(size_t, sharedMemPerBlockOptin, )                                                                            \
    FIELD(int, pageableMemoryAccessUsesHostPageTables, )                                                               \
    FIELD(int, directManagedMemAccessFromHost, )                                                                       \
    FIELD(int, maxBlocksPerMultiProcessor, )                                                                           \
    FIELD(int, accessPolicyMaxWindowSize, )                                                                            \
    FIELD(size_t, reservedSharedMemPerBlock, )                                                                         \
    FIELD(int, hostRegisterSupported, )                                                                                \
    FIELD(int, sparseCudaArraySupported, )                                                                             \
    FIELD(int, hostRegisterReadOnlySupported, )                                                                        \
    FIELD(int, timelineSemaphoreInteropSupported, )                                                                    \
    FIELD(int, memoryPoolsSupported, )                                                                                 \
    FIELD(int, gpuDirectRDMASupported, )                                                                               \
    FIELD(unsigned, gpuDirectRDMAFlushWritesOptions, )                                                                 \
    FIELD(int, gpuDirectRDMAWritesOrdering, )                                                                          \
    FIELD(unsigned, memoryPoolSupportedHandleTypes, )                                                                  \
    FIELD(int, deferredMappingCudaArraySupported, )                                                                    \
    FIELD(int, ipcEventSupported, )                                                                                    \
    FIELD(int, clusterLaunch, )                                                                                        \
    FIELD(int, unifiedFunctionPointers, )                                                                              \
    OLD(int, reserved, [63])                                                                                           \
    NEW(int, deviceNumaConfig, )                                                                                       \
    NEW(int, deviceNumaId, )                                                                                           \
    NEW(int, mpsEnabled, )                                                                                             \
    NEW(int, hostNumaId, )                                                                                             \
    NEW(unsigned, gpuPciDeviceID, )                                                                                    \
    NEW(unsigned, gpuPciSubsystemID, )                                                                                 \
    NEW(int, hostNumaMultinodeIpcSupported, )                                                                          \
    NEW(int, reserved, [56])

#define SIM_FIELD(type, name, array) type name array;
#define SIM_NO_FIELD(type, name, array)
struct sim_properties_12 {
    DEVICE_PROPERTIES(SIM_FIELD, SIM_FIELD, SIM_NO_FIELD)
};
struct sim_properties_13 {
    DEVICE_PROPERTIES(SIM_FIELD, SIM_NO_FIELD, SIM_FIELD)
};

struct cudaDeviceProp;
#endif
