plugins {
    id("com.android.application") version "8.7.3"
    id("org.jetbrains.kotlin.android") version "2.0.21"
}

android {
    namespace = "example"
    compileSdk = 35
    defaultConfig {
        minSdk = 24
        targetSdk = 35
    }
    kotlinOptions { jvmTarget = "1.8" }
}

dependencies {
    implementation("com.google.ai.edge.litert:litert:2.2.0")
}
