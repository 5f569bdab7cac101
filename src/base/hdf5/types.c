#include "base/hdf5/types.h"

bool crd_hdf5_number_is_sound(hid_t type)
{
    size_t sign, exponent, exponent_bits, fraction, fraction_bits;
    const H5T_class_t class = H5Tget_class(type);
    if (class != H5T_INTEGER && class != H5T_FLOAT) return false;
    const size_t bits = 8 * H5Tget_size(type), precision = H5Tget_precision(type);
    const int offset = H5Tget_offset(type);
    if (precision == 0 || offset < 0 || (size_t)offset > bits || precision > bits - (size_t)offset) return false;
    if (class == H5T_INTEGER) return true;
    if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) < 0) return false;
    return sign < precision && exponent <= precision && exponent_bits <= precision - exponent &&
           fraction <= precision && fraction_bits <= precision - fraction;
}
