/* Ends what ops/real_float.h or ops/real_double.h began. */
#undef real
#undef REF
#undef REAL_EXP
#undef REAL_LOG
#undef REAL_LOG1P
#undef REAL_SQRT
#undef REAL_ABS
