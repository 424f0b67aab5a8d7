#include "boinc_app/pictures/picture_fault.hpp"

namespace dedloc::pictures {

const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::kNotAPicture:
            return "not a picture";
        case Fault::kTooLarge:
            return "too many pixels";
        case Fault::kTooManyScans:
            return "too many scans";
        case Fault::kTruncated:
            return "truncated";
        case Fault::kBroken:
            return "broken";
        case Fault::kUnsupported:
            return "unsupported";
    }
    return "unknown";
}

}  // namespace dedloc::pictures
