// Settings of YuniKorn out of a dict.
#pragma once

#include "evenhand/policy/yunikorn/settings.h"
#include "reader.h"

namespace evenhand::bindings {

yunikorn::Settings yunikorn_settings(const py::dict& values);

}  // namespace evenhand::bindings
