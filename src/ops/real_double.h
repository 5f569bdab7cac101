/* Compiles what follows for double: see ops/reference.h. Included any number of times, ended by ops/real_none.h. */
#define real       double
#define REF(name)  crd_ref_##name##_d
#define REAL_EXP   exp
#define REAL_LOG   log
#define REAL_LOG1P log1p
#define REAL_SQRT  sqrt
#define REAL_ABS   fabs
