// Removes from a JPEG what identifies people and places, without touching its pixels.
#pragma once

#include <cstddef>
#include <span>

#include "boinc_app/pictures/picture_fault.hpp"
#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::pictures {

/// The same JPEG with the segments that its pixels need and no others: tables, frame, scans, the
/// first 14 bytes of JFIF's segment and the first 12 of Adobe's, which say how colours are coded.
/// EXIF (camera, time, place, thumbnail), XMP, IPTC, colour profiles, comments, bytes between the
/// segments and behind the end are gone. An orientation other than upright stays, in an EXIF
/// segment of 36 bytes that has nothing else, because turning the pixels would code them anew.
///
/// Errors  PictureFault: not a JPEG, or cut within a segment. Whether it can be decoded is for the
///         decoder to say.
/// Cost    one pass and one copy
Result<Buffer, PictureFault> without_metadata(std::span<const std::byte> jpeg);

}  // namespace dedloc::pictures
