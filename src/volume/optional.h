/* Suffixes of formats that need a library: a build without it knows them, too, to say what is missing. */
#ifndef CRD_VOLUME_OPTIONAL_H
#define CRD_VOLUME_OPTIONAL_H

#define CRD_TIFF_SUFFIXES   ".tif .tiff"
#define CRD_TIFF_KINDS      ".ome.tif .ome.tiff"
#define CRD_NIFTI_SUFFIXES  ".nii .nii.gz .hdr .img"
#define CRD_NIFTI_KINDS     ".nii.gz"
#define CRD_NIFTI_ONLY_READ ".hdr .img"
#define CRD_PNG_SUFFIXES    ".png"
#define CRD_JPEG_SUFFIXES   ".jpg .jpeg"

#endif
