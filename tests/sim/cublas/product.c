/* product.c - what a matrix product computes, on the host, for those who ask for it (SIM_COMPUTE): plain loops with
 * sums in double precision. Device memory is host memory here, so pointers are simply used. Runs wherever the engine
 * runs an operation's effect; calls nothing of the engine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cublas/gemm.h"

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    return bits >> 15 ? -value : value;
}

/* Nearest, ties to even; a half's subnormals have the smallest exponent. */
static uint16_t to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(size))
        return sign | 0x7e00;
    int exponent;
    frexp(size, &exponent);
    if (exponent < -13)
        exponent = -13;
    double steps = size >= 65520 ? 0 : nearbyint(ldexp(size, 11 - exponent));
    if (size >= 65520)
        return sign | 0x7c00;
    return (uint16_t)(sign |
                      ((exponent + 13) * 1024 + (int)steps)); /* a carry out of the fraction is the next exponent */
}

static float from_brain(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

static uint16_t to_brain(float value)
{
    uint32_t wide;
    memcpy(&wide, &value, sizeof(wide));
    if (isnan(value))
        return 0x7fc0;
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

static double get(const void *at, enum gemm_type type, int64_t i)
{
    switch (type) {
    case GEMM_F64:
        return ((const double *)at)[i];
    case GEMM_F16:
        return half(((const uint16_t *)at)[i]);
    case GEMM_BF16:
        return (double)from_brain(((const uint16_t *)at)[i]);
    default:
        return (double)((const float *)at)[i];
    }
}

static void put(void *at, enum gemm_type type, int64_t i, double value)
{
    switch (type) {
    case GEMM_F64:
        ((double *)at)[i] = value;
        break;
    case GEMM_F16:
        ((uint16_t *)at)[i] = to_half(value);
        break;
    case GEMM_BF16:
        ((uint16_t *)at)[i] = to_brain((float)value);
        break;
    default:
        ((float *)at)[i] = (float)value;
    }
}

static bool known(enum gemm_type type)
{
    return type == GEMM_F64 || type == GEMM_F32 || type == GEMM_F16 || type == GEMM_BF16;
}

static int64_t place(const struct gemm_matrix *x, int64_t batch, int64_t row, int64_t column)
{
    return batch * x->stride + (x->transposed ? column + row * x->ld : row + column * x->ld);
}

static double finish(const struct gemm_product *p, int64_t row, double value)
{
    if (p->epilogue & GEMM_BIAS && p->bias)
        value += get(p->bias, p->d.type, row);
    if (p->epilogue & GEMM_RELU && value < 0)
        value = 0;
    if (p->epilogue & GEMM_GELU)
        value *= 0.5 * (1 + tanh(sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
    return value;
}

static void one(const struct gemm_product *p, int64_t batch, int64_t row, int64_t column)
{
    double sum = 0;
    for (int64_t i = 0; i < p->k; i++)
        sum += get(p->a.at, p->a.type, place(&p->a, batch, row, i)) *
               get(p->b.at, p->b.type, place(&p->b, batch, i, column));
    double value = p->alpha * sum;
    if (p->beta != 0) /* else C is not read: it may be anything */
        value += p->beta * get(p->c.at, p->c.type, place(&p->c, batch, row, column));
    put((void *)p->d.at, p->d.type, place(&p->d, batch, row, column), finish(p, row, value));
}

static void run(void *state)
{
    const struct gemm_product *p = state;
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t column = 0; column < p->n; column++)
            for (int64_t row = 0; row < p->m; row++)
                one(p, batch, row, column);
}

struct sim_work gemm_work(const struct gemm_product *p)
{
    struct sim_work work = {run, malloc(sizeof(*p)), sizeof(*p)};
    if (!work.state || !known(p->a.type) || !known(p->b.type) || !known(p->d.type)) {
        free(work.state);
        return (struct sim_work){0};
    }
    memcpy(work.state, p, sizeof(*p));
    return work;
}

double gemm_scale(const void *scale, enum gemm_type compute)
{
    return scale ? get(scale, compute, 0) : 0;
}
