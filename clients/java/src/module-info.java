/** 64-bit IDs that never repeat within a namespace of a store, made in this process. */
module org.snowfence {
    requires java.net.http;

    exports org.snowfence;
}
