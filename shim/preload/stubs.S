/* stubs.S - the two calls that cannot be wrapped in C.
 *
 * vfork returns twice on one stack, so nobody may have a frame between it and its caller. dlopen finds relative names
 * by the RUNPATH of its caller, whom it knows by the return address. Both stubs leave a mark in the thread's shim_tls
 * (offsets checked in preload.c) and jump to the real function; the next hook of the thread sees the mark. dlopen also asks
 * for attention, so that hooks whose gate is closed look as well. */
#include "shim/preload/stubs.h"

#if defined(__x86_64__)

        .text
        .macro stub name, real, mark
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        movq    shim_tls@gottpoff(%rip), %rax
        movb    $1, %fs:\mark(%rax)
        .if \mark == SHIM_TLS_AFTER_DLOPEN
        movb    $1, shim_attention(%rip)
        .endif
        movq    \real(%rip), %rax
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      pushq   %rdi                    /* called before our constructor: resolve first */
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    real_resolve
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        movq    \real(%rip), %rax
        jmp     *%rax
        .cfi_endproc
        .size   \name, . - \name
        .endm

#elif defined(__aarch64__)

        .text
        .macro stub name, real, mark
        .globl  \name
        .type   \name, %function
\name:
        .cfi_startproc
        mrs     x9, tpidr_el0
        adrp    x10, :gottprel:shim_tls
        ldr     x10, [x10, #:gottprel_lo12:shim_tls]
        add     x9, x9, x10
        mov     w10, #1
        strb    w10, [x9, #\mark]
        .if \mark == SHIM_TLS_AFTER_DLOPEN
        adrp    x9, shim_attention
        strb    w10, [x9, #:lo12:shim_attention]
        .endif
        adrp    x9, \real
        ldr     x9, [x9, #:lo12:\real]
        cbz     x9, 1f
        br      x9
1:      stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        stp     x0, x1, [sp, #16]
        bl      real_resolve
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        adrp    x9, \real
        ldr     x9, [x9, #:lo12:\real]
        br      x9
        .cfi_endproc
        .size   \name, . - \name
        .endm

#endif

        stub    vfork, real_vfork, SHIM_TLS_IN_VFORK
        stub    dlopen, real_dlopen, SHIM_TLS_AFTER_DLOPEN

        .section .note.GNU-stack, "", %progbits
