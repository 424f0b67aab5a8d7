#include "project_server/pictures/jpeg_encoder.hpp"

// jpeglib.h needs these two first.
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <new>

#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

/// libjpeg's encoder. Its errors jump to write(), which has trivial locals only.
class JpegWriter final {
  public:
    JpegWriter() {
        info_.err = jpeg_std_error(&errors_);
        info_.client_data = this;
        errors_.error_exit = [](j_common_ptr info) {
            std::longjmp(static_cast<JpegWriter*>(info->client_data)->jump_, 1);
        };
        errors_.output_message = [](j_common_ptr) {};
    }
    ~JpegWriter() {
        jpeg_destroy_compress(&info_);
        std::free(bytes_);
    }
    JpegWriter(const JpegWriter&) = delete;
    JpegWriter& operator=(const JpegWriter&) = delete;

    bool write(const Picture& picture, int quality);
    Buffer bytes() const {
        const auto* const begin = reinterpret_cast<const std::byte*>(bytes_);
        return {begin, begin + size_};
    }

  private:
    jpeg_compress_struct info_{};
    jpeg_error_mgr errors_{};
    std::jmp_buf jump_{};
    unsigned char* bytes_ = nullptr;
    unsigned long size_ = 0;
};

bool JpegWriter::write(const Picture& picture, int quality) {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = picture.width;
    info_.image_height = picture.height;
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
        auto* row = const_cast<JSAMPLE*>(picture.rgb.data()) +
                    std::size_t{3} * info_.image_width * info_.next_scanline;
        jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
}

}  // namespace

Buffer encode_jpeg(const Picture& picture, int quality) {
    DEDLOC_CHECK(quality >= 1 && quality <= 100, "a quality is a percentage", quality);
    DEDLOC_CHECK(picture.width >= 1 && picture.width <= kMaxJpegSide, "too wide", picture.width);
    DEDLOC_CHECK(picture.height >= 1 && picture.height <= kMaxJpegSide, "too high", picture.height);
    DEDLOC_CHECK(picture.rgb.size() == std::size_t{3} * picture.width * picture.height,
                 "three bytes for each pixel");
    JpegWriter writer;
    if (!writer.write(picture, quality)) throw std::bad_alloc{};
    return writer.bytes();
}

}  // namespace dedloc::pictures
