/* Against libm's long double functions, bounds in ulps of the result; special values; bits held by hashes; and loops
 * over the inline forms, compiled as vector code, against the functions. */
#include "base/portable_math.h"

#include <float.h>

#include "base/portable_math_inline.h"
#include "base/random/philox.h"
#include "harness.h"
#include "numbers.h"

typedef struct function { /* one function of a double or of a float */
    const char *name;
    double (*of_double)(double);
    float (*of_float)(float);
    long double (*reference)(long double);
    double low, high; /* the range that inputs are mostly drawn from */
    double bound;     /* largest error, ulps */
    uint64_t hash;
} function;

static long double reference_softplus(long double x)
{
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double reference_sigmoid(long double x)
{
    return x > 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}

static const function functions[] = {
    {"exp", crd_exp, NULL, expl, -750, 715, 0.8, UINT64_C(0xa9089d4f6166e33f)},
    {"log", crd_log, NULL, logl, 0, 20, 0.85, UINT64_C(0x81368d2901d8d632)},
    {"tanh", crd_tanh, NULL, tanhl, -23, 23, 1.5, UINT64_C(0xfeade03786042acd)},
    {"softplus", crd_softplus, NULL, reference_softplus, -50, 50, 2.25, UINT64_C(0xad03cfe085d4560b)},
    {"sigmoid", crd_sigmoid, NULL, reference_sigmoid, -50, 50, 2.5, UINT64_C(0xa56590145830642e)},
    {"expf", NULL, crd_expf, expl, -105, 90, 0.501, UINT64_C(0x4299cb3041e164e2)},
    {"logf", NULL, crd_logf, logl, 0, 20, 0.501, UINT64_C(0x76859edd8954decd)},
    {"sigmoidf", NULL, crd_sigmoidf, reference_sigmoid, -105, 30, 0.501, UINT64_C(0x4bc722094ac97f12)},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static double call(const function *f, double x)
{
    return f->of_double != NULL ? f->of_double(x) : (double)f->of_float((float)x);
}

/* The i-th input of a fixed sequence: any bit pattern, near 1, tiny, or in the function's range; for a float, a float.
 */
static double input(const function *f, uint64_t i)
{
    const crd_stream stream = {20, 0, CRD_PURPOSE_PROBE, 0, 0};
    const uint64_t bits = (uint64_t)crd_random_u32(&stream, 2 * i) << 32 | crd_random_u32(&stream, 2 * i + 1);
    const double unit = ((double)(bits >> 12) + 0.5) * 0x1p-52;
    double x;
    switch (i % 8) {
    case 0:
        x = crd_from_bits(bits);
        break;
    case 1: /* any bit pattern of a float */
        x = (double)ldexpf((float)(bits & 0xffffff), (int)(bits >> 24 & 0xff) - 150) * (bits >> 63 ? -1 : 1);
        break;
    case 2:
        x = 1 + (unit - 0.5) * 0x1p-6;
        break;
    case 3:
        x = (unit - 0.5) * 2;
        break;
    case 4:
        x = (unit - 0.5) * 0x1p-9;
        break;
    default:
        x = f->low + unit * (f->high - f->low);
    }
    return f->of_double != NULL ? x : (double)(float)x;
}

/* The distance of two neighbours at x in the function's own type. */
static double ulp_at(const function *f, long double x)
{
    const int least = f->of_double != NULL ? DBL_MIN_EXP - DBL_MANT_DIG : FLT_MIN_EXP - FLT_MANT_DIG;
    const int digits = f->of_double != NULL ? DBL_MANT_DIG : FLT_MANT_DIG;
    int exponent;
    frexpl(x, &exponent);
    return ldexp(1, exponent - digits > least ? exponent - digits : least);
}

/* valgrind computes long double in 64 bits, which is too coarse a ruler. */
static bool long_double_is_finer(void)
{
    volatile long double one = 1;
    one += 0x1p-60L;
    return one != 1;
}

static void test_errors_are_below_the_bounds(void)
{
    if (!long_double_is_finer()) SKIP("long double is no finer than double here");
    const uint64_t count = long_tests() ? 40000000 : 200000;
    for (const function *f = functions; f < functions + FUNCTIONS; f++) {
        const double largest = f->of_double != NULL ? DBL_MAX : (double)FLT_MAX;
        double worst = 0, worst_at = 0;
        for (uint64_t i = 0; i < count; i++) {
            const double x = input(f, i), y = call(f, x);
            const long double wanted = f->reference((long double)x);
            if (isnan(wanted)) {
                CHECK(isnan(y));
            } else if (fabsl(wanted) > (long double)largest) { /* rounding to infinity starts half an ulp further on */
                CHECK(fabs(y) >= largest && (y > 0) == (wanted > 0));
            } else {
                const double error = (double)(fabsl((long double)y - wanted) / ulp_at(f, wanted));
                if (isinf(y) && fabsl(wanted) >= (long double)largest * (1 - 1e-15L)) continue;
                CHECK(!isnan(y));
                if (worse(worst, error) > worst) worst_at = x;
                worst = worse(worst, error);
            }
        }
        printf("%-9s largest error %.4f ulp at %a\n", f->name, worst, worst_at);
        if (worst > f->bound) CHECK_FAILED("%s is off by %.4f ulp at %a", f->name, worst, worst_at);
    }
}

static void test_bits_are_pinned(void)
{
    int changed = 0;
    for (const function *f = functions; f < functions + FUNCTIONS; f++) {
        uint64_t hash = 0;
        for (uint64_t i = 0; i < 100000; i++) {
            const double y = call(f, input(f, i));
            hash += scatter(scatter(i) + (isnan(y) ? 0 : double_bits(y)));
        }
        printf("%-9s hash %016llx\n", f->name, (unsigned long long)hash);
        changed += hash != f->hash;
    }
    CHECK(changed == 0);
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || double_bits(a) == double_bits(b);
}

static void test_special_values(void)
{
    const double inf = (double)INFINITY, denormal = 0x1p-1074;
    const float inff = INFINITY, denormalf = 0x1p-149f;
    for (const function *f = functions; f < functions + FUNCTIONS; f++) CHECK(isnan(call(f, (double)NAN)));
    CHECK(same(crd_exp(0.0), 1) && same(crd_exp(-0.0), 1) && same(crd_exp(inf), inf) && same(crd_exp(-inf), 0));
    /* the last number whose power is finite, and the next */
    CHECK(crd_exp(0x1.62e42fefa39efp+9) > 0x1.fffffffffff2p+1023 && crd_exp(0x1.62e42fefa39efp+9) <= DBL_MAX);
    CHECK(same(crd_exp(0x1.62e42fefa39f0p+9), inf));
    CHECK(same(crd_exp(709.79), inf) && same(crd_exp(DBL_MAX), inf) && same(crd_exp(-DBL_MAX), 0));
    CHECK(same(crd_exp(-745.13), denormal) && same(crd_exp(-745.14), 0) && same(crd_exp(-744.5), denormal));
    CHECK(same(crd_exp(denormal), 1));
    CHECK(same(crd_log(1), 0) && same(crd_log(inf), inf) && same(crd_log(0.0), -inf) && same(crd_log(-0.0), -inf));
    CHECK(isnan(crd_log(-denormal)) && isnan(crd_log(-1)) && isnan(crd_log(-inf)));
    CHECK(same(crd_log(denormal), -0x1.74385446d71c3p+9) && same(crd_log(DBL_MAX), 0x1.62e42fefa39efp+9));
    CHECK(same(crd_tanh(0.0), 0.0) && same(crd_tanh(-0.0), -0.0) && same(crd_tanh(inf), 1) && same(crd_tanh(-inf), -1));
    CHECK(same(crd_tanh(denormal), denormal) && same(crd_tanh(-denormal), -denormal) && same(crd_tanh(DBL_MAX), 1));
    CHECK(same(crd_softplus(inf), inf) && same(crd_softplus(-inf), 0) && same(crd_softplus(DBL_MAX), DBL_MAX));
    CHECK(same(crd_softplus(-745), denormal) && same(crd_softplus(0), 0x1.62e42fefa39efp-1));
    CHECK(same(crd_sigmoid(0), 0.5) && same(crd_sigmoid(inf), 1) && same(crd_sigmoid(-inf), 0));
    CHECK(same(crd_sigmoid(-745), denormal) && same(crd_sigmoid(-0.0), 0.5) && same(crd_sigmoid(40), 1));
    CHECK(crd_expf(0) == 1 && crd_expf(inff) == inff && crd_expf(-inff) == 0 && crd_expf(88.73f) == inff);
    CHECK(crd_expf(-103.2f) == denormalf && crd_expf(-104) == 0 && crd_expf(FLT_MAX) == inff &&
          crd_expf(-FLT_MAX) == 0);
    CHECK(float_bits(crd_logf(1)) == 0 && crd_logf(inff) == inff && crd_logf(0.0f) == -inff &&
          crd_logf(-0.0f) == -inff);
    CHECK(isnan(crd_logf(-denormalf)) && isnan(crd_logf(-inff)) && crd_logf(denormalf) == -0x1.9d1dap+6f);
    CHECK(crd_sigmoidf(0) == 0.5f && crd_sigmoidf(inff) == 1 && crd_sigmoidf(-inff) == 0 && crd_sigmoidf(20) == 1);
    CHECK(crd_sigmoidf(-103) == denormalf && crd_sigmoidf(-FLT_MAX) == 0 && crd_sigmoidf(FLT_MAX) == 1);
}

/* tanh is odd, sigmoid(x) + sigmoid(-x) is 1 and softplus(x) - softplus(-x) is x, but for rounding. */
static void test_identities(void)
{
    for (double x = -40; x <= 40; x += 0.0137) {
        CHECK(crd_tanh(-x) == -crd_tanh(x));
        CHECK_NEAR(crd_sigmoid(x) + crd_sigmoid(-x), 1, 0x1p-52);
        CHECK_NEAR(crd_softplus(x) - crd_softplus(-x), x, 0x1p-51 * fmax(1, fabs(x)));
        CHECK_NEAR(crd_log(crd_exp(x)), x, 0x1p-52 * fmax(1, fabs(x)));
    }
}

/* Loops that the compiler turns into vector code, for each instruction set. */
enum { ROW = 1000 };

#define LOOP(path, target, name, type)                                                                                 \
    target static void path##_##name(const type *restrict x, type *restrict y)                                         \
    {                                                                                                                  \
        for (int i = 0; i < ROW; i++) y[i] = crd_##name##_inline(x[i]);                                                \
    }
#define LOOPS(path, target)                                                                                            \
    LOOP(path, target, exp, double)                                                                                    \
    LOOP(path, target, log, double)                                                                                    \
    LOOP(path, target, tanh, double)                                                                                   \
    LOOP(path, target, softplus, double)                                                                               \
    LOOP(path, target, sigmoid, double)                                                                                \
    LOOP(path, target, expf, float)                                                                                    \
    LOOP(path, target, logf, float)                                                                                    \
    LOOP(path, target, sigmoidf, float)
CRD_CPU_PATHS(LOOPS)

#define ROW_OF(path, target) {path##_exp, path##_log, path##_tanh, path##_softplus, path##_sigmoid},
static void (*const double_loops[][5])(const double *restrict, double *restrict) = {CRD_CPU_PATHS(ROW_OF)};
#undef ROW_OF
#define ROW_OF(path, target) {path##_expf, path##_logf, path##_sigmoidf},
static void (*const float_loops[][3])(const float *restrict, float *restrict) = {CRD_CPU_PATHS(ROW_OF)};
enum { DOUBLE_FUNCTIONS = sizeof double_loops[0] / sizeof double_loops[0][0] };

static void run_loop(int which, int path, const double *x, double *y)
{
    static float xf[ROW], yf[ROW];
    if (which < DOUBLE_FUNCTIONS) {
        double_loops[path][which](x, y);
        return;
    }
    for (int i = 0; i < ROW; i++) xf[i] = (float)x[i];
    float_loops[path][which - DOUBLE_FUNCTIONS](xf, yf);
    for (int i = 0; i < ROW; i++) y[i] = (double)yf[i];
}

static void test_vector_loops_give_the_same_bits(void)
{
    static double x[ROW], y[ROW];
    for (int which = 0; which < FUNCTIONS; which++)
        for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
            if (!have_cpu(path)) continue;
            for (uint64_t round = 0; round < 30; round++) {
                for (uint64_t i = 0; i < ROW; i++) x[i] = input(&functions[which], round * ROW + i);
                run_loop(which, path, x, y);
                for (int i = 0; i < ROW; i++) CHECK(same(y[i], call(&functions[which], x[i])));
            }
        }
}

static void test_speed_is_printed(void)
{
    static double x[ROW], y[ROW];
    static float xf[ROW], yf[ROW];
    for (int i = 0; i < ROW; i++) xf[i] = (float)(x[i] = 0.01 * i + 0.001);
    for (int which = 0; which < FUNCTIONS; which++) {
        printf("%-9s", functions[which].name);
        for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
            if (!crd_cpu_has((crd_cpu)path)) continue;
            const double start = seconds_now();
            for (int round = 0; round < 1000; round++) {
                if (which < DOUBLE_FUNCTIONS)
                    double_loops[path][which](x, y);
                else
                    float_loops[path][which - DOUBLE_FUNCTIONS](xf, yf);
                __asm__ volatile("" ::: "memory");
            }
            printf(" %s %.0f", crd_cpu_name((crd_cpu)path), ROW / 1e3 / (seconds_now() - start));
        }
        printf(" million/s\n");
    }
    CHECK(yf[0] != yf[ROW - 1]);
}

TEST_MAIN(TEST(test_errors_are_below_the_bounds), TEST(test_bits_are_pinned), TEST(test_special_values),
          TEST(test_identities), TEST(test_vector_loops_give_the_same_bits), TEST(test_speed_is_printed))
