package android.os

/** What LiteRT reads of a device; the stubs of Android's classes are of a version that lacks the names of chips. */
object Build {
    const val ID = ""
    const val HARDWARE = ""
    const val SOC_MANUFACTURER = ""
    const val SOC_MODEL = ""

    object VERSION {
        const val SDK_INT = 0
    }

    object VERSION_CODES {
        const val S = 31
    }
}
