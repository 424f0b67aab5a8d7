// Reasons why the file of a picture is refused.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::pictures {

/// The kind of a fault, for counts.
enum class Fault : std::uint8_t {
    kNotAPicture,   ///< the bytes do not begin as a file of this kind does
    kTooLarge,      ///< more pixels, or memory for coefficients, than the limits allow
    kTooManyScans,  ///< a progressive file with more scans than the limits allow
    kTruncated,     ///< the file ends before the last pixel
    kBroken,        ///< the structure or the coded pixels are damaged
    kUnsupported,   ///< a valid form that is not decoded: 12 bits, lossless, two components
};
/// A few words that name the kind: "truncated".
const char* name_of(Fault fault);

/// A refused picture.
struct PictureFault {
    Fault fault = Fault::kBroken;  ///< the kind
    std::string sentence;          ///< a clause about the file: "it claims 65500x65500 pixels …"
};

}  // namespace dedloc::pictures
