/* Compiles what follows for float: see ops/reference.h. Included any number of times, ended by ops/real_none.h. */
#define real       float
#define REF(name)  crd_ref_##name##_f
#define REAL_EXP   expf
#define REAL_LOG   logf
#define REAL_LOG1P log1pf
#define REAL_SQRT  sqrtf
#define REAL_ABS   fabsf
