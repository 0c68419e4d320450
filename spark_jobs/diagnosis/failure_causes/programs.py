from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "NATIVE_LIBRARY",
        r"UnsatisfiedLinkError|librocksdbjni|Could not load the native RocksDB library",
        message("a native library could not be loaded"),
        message(
            "See whether its temporary directory may be executed and written (noexec, full), and "
            "whether the image has the C library it was built for: musl instead of glibc is a "
            "usual reason."
        ),
    ),
    FailureCause(
        "KRYO",
        r"KryoException|Encountered unregistered class ID|com\.esotericsoftware\.kryo"
        r"[\s\S]*(?:IndexOutOfBounds|ClassCast|NullPointer)"
        r"|(?:IndexOutOfBounds|ClassCast|NullPointer)Exception[^\n]*(?:\n\tat [^\n]*){0,3}"
        r"\n\tat com\.esotericsoftware\.kryo",
        message("Kryo cannot read or write a type"),
        message(
            "See which type falls back to Kryo (pipeline.generic-types: false names it at the "
            "start). Give it a POJO, Avro or own serializer, and register classes in a fixed "
            "order. A snapshot that was written before needs the classes of that time."
        ),
    ),
    FailureCause(
        "CLASS_MISSING",
        r"ClassNotFoundException|NoClassDefFoundError|Unable to find class|Cannot load user class"
        r"|Could not find class '[^'\n]{1,300}' in classpath"
        r"|Could not find any factory for identifier"
        r"|Could not find a file system implementation for scheme",
        message("a class is missing"),
        message(
            "See whether the jar of the job, or lib/ of the cluster, has the class: connectors and "
            "formats are not part of Flink, and file systems belong into plugins/. A class that is "
            "in both may be loaded by the wrong loader (classloader.resolve-order)."
        ),
    ),
    FailureCause(
        "CLASS_VERSIONS",
        r"NoSuchMethodError|NoSuchFieldError|IncompatibleClassChangeError|AbstractMethodError"
        r"|LinkageError|VerifyError|UnsupportedClassVersionError|InvalidClassException"
        r"|cannot assign instance of|cannot be cast to class [^\n]{0,300}loader",
        message("classes of different versions meet"),
        message(
            "Build the job against the versions that the cluster runs: Flink, connectors, Java. "
            "Take what Flink brings out of the jar (scope provided), and shade what differs."
        ),
    ),
    FailureCause(
        "JAVA_MODULE_CLOSED",
        r"InaccessibleObjectException|module java\.base does not \\?\"opens",
        message("the JVM does not let a library look into one of its classes"),
        message(
            "Since Java 17 that has to be allowed: keep the --add-opens options that Flink's "
            "default env.java.opts.all has, where it was overwritten, and add the package that is "
            "named. A type that Kryo takes apart by reflection is better given its own serializer."
        ),
    ),
    FailureCause(
        "CONFIGURATION_INVALID",
        r"IllegalConfigurationException",
        message("Flink refuses its configuration"),
        message(
            "Read which options it names and set them so that they fit each other; of memory, set "
            "the total or the parts, not both."
        ),
    ),
    FailureCause(
        "PYTHON_PROCESS",
        r"Python process exits with code|Failed to create stage bundle factory"
        r"|Process died with exit code",
        message("a Python process of the job ended"),
        message(
            "Read Python's own traceback above, or in the output of that process: an import that "
            "is missing in the environment, another Python version than the client's, or no "
            "memory: Python's comes out of the managed memory of the slot "
            "(taskmanager.memory.managed.consumer-weights)."
        ),
    ),
    FailureCause(
        "NOT_SERIALIZABLE",
        r"NotSerializableException|is not serializable|Could not serialize|Cannot instantiate user "
        r"function|Could not instantiate[^\n]{0,40}serializer",
        message("a function or record of the job cannot be serialized"),
        message(
            "Make the field that is named transient and create it in open(), or give its type a "
            "serializer."
        ),
    ),
    FailureCause(
        "RECORD_UNREADABLE",
        # The source reports any failure of its chained operators in these words.
        r"Failed to deserialize consumer record(?![\s\S]*ExceptionInChainedOperator)"
        r"|Failed to deserialize (?:JSON|CSV row|Avro record|PB object)"
        r"|Corrupt (?:Canal|Debezium|Maxwell|Ogg) JSON message|RecordDeserializationException"
        r"|Error deserializing (?:Avro|JSON|Protobuf|key|KEY|value|VALUE)|Unknown magic byte"
        r"|AvroTypeException|JsonParseException|Malformed data\. Length is negative",
        message("a record cannot be read"),
        message(
            "The same record comes again after each restart. Find it by topic, partition and "
            "offset, and see who wrote it and with which schema. Read it with a version of the job "
            "that can, or let the format skip it (json.ignore-parse-errors, a deserializer "
            "that writes such records aside): what is skipped is not in the result."
        ),
    ),
    FailureCause(
        "ROCKSDB",
        r"RocksDBException",
        message("RocksDB reports an error"),
        message(
            "Read its own words behind RocksDBException: disk, memory, open files or damage. Look "
            "at the local disk of that TaskManager, and at RocksDB's own LOG there."
        ),
    ),
)
