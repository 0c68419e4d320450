from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import EXIT, FailureCause

CAUSES = (
    FailureCause(
        "METASPACE_FULL",
        r"OutOfMemoryError: Metaspace|OutOfMemoryError: Compressed class space",
        message("the JVM's metaspace is full"),
        message(
            "See whether the metaspace grows with each restart or submission: then class loaders "
            "leak, so stop threads and drivers that the job's classes started, or put these "
            "libraries into lib/. If it does not grow, raise taskmanager.memory.jvm-metaspace.size."
        ),
    ),
    FailureCause(
        "DIRECT_MEMORY_FULL",
        r"OutOfMemoryError: (?:Direct buffer memory|Cannot reserve \d+ bytes of direct)"
        r"|OutOfDirectMemoryError|The direct out-of-memory error has occurred",
        message("the JVM's direct memory is full"),
        message(
            "Raise taskmanager.memory.task.off-heap.size (of Flink's own buffers: "
            "taskmanager.memory.framework.off-heap.size), by what the job's clients keep off the "
            "heap. If it comes later after each restart, look for a client that is not closed."
        ),
    ),
    FailureCause(
        "NATIVE_THREADS_USED_UP",
        r"unable to create (?:new )?native thread",
        message("no more threads can be started"),
        message(
            "Count the threads of the process: compare them with the limits of its user and its "
            "container (ulimit -u, pids). Look for a client that the job makes for each record or "
            "each restart and never closes."
        ),
    ),
    FailureCause(
        "VALUE_TOO_LARGE",
        r"OutOfMemoryError: Requ(?:ested array size|ired length) exceeds"
        r"|OutOfMemoryError[^\n]{0,60}\n[^\n]{0,100}\.hugeCapacity"
        r"|NegativeArraySizeException[^\n]*\n\tat org\.(?:rocksdb|forstdb)",
        message("one value is larger than 2 GiB"),
        message(
            "No array of the JVM holds it, whatever the heap. Find what grows without bounds: list "
            "state of one key, which RocksDB merges into one value, or a window that waits long. "
            "Bound it, or keep it as map state."
        ),
    ),
    FailureCause(
        "HEAP_FULL",
        r"OutOfMemoryError(?:: (?:Java heap space|GC overhead limit))"
        r"|OutOfMemoryError[\s\S]{0,40}heap",
        message("the JVM's heap is full"),
        message(
            "Take a heap dump at the next error (-XX:+HeapDumpOnOutOfMemoryError) and see what the "
            "job keeps: state in a hash map backend, caches of functions, large records. Bound "
            "that, or raise taskmanager.memory.task.heap.size."
        ),
    ),
    FailureCause(
        "STACK_OVERFLOW",
        r"java\.lang\.StackOverflowError",
        message("a thread's stack is full"),
        message(
            "Read which methods call each other in the trace: a record that is nested deeply, a "
            "recursive function, or Flink while it passes on an exception that refers to itself "
            "(then read the failure before it). Bound the recursion."
        ),
    ),
    FailureCause(
        "CONTAINER_OUT_OF_MEMORY",
        r"OOMKilled|beyond (?:the )?'?physical'? memory limit"
        rf"|beyond the '?PHYSICAL'? memory limit|{EXIT}-104\b",
        message("the container was killed for its memory"),
        message(
            "Raise taskmanager.memory.process.size, or the part that Flink leaves for native "
            "memory, taskmanager.memory.jvm-overhead.fraction; more heap does not help. Look at "
            "what grows outside the heap: RocksDB beyond its managed memory, direct buffers, "
            "threads, glibc arenas (MALLOC_ARENA_MAX)."
        ),
    ),
    FailureCause(
        "CONTAINER_VIRTUAL_MEMORY",
        r"beyond (?:the )?'?(?:virtual|VIRTUAL)'? memory limit"
        rf"|{EXIT}-103\b",
        message("the container was killed for its virtual memory"),
        message(
            "Virtual memory says little about a JVM: turn the check off "
            "(yarn.nodemanager.vmem-check-enabled) or raise yarn.nodemanager.vmem-pmem-ratio."
        ),
    ),
    FailureCause(
        "ROCKSDB_MEMORY_LIMIT",
        r"Insert failed (?:because block cache is full|due to LRU cache being full)"
        r"|block cache is full due to strict capacity limit",
        message("RocksDB's block cache is full and its limit is strict"),
        message(
            "Raise the managed memory of the slot (taskmanager.memory.managed.size), or take the "
            "strict limit of the cache back: iterators and index blocks need more than it allows."
        ),
    ),
    FailureCause(
        "MANAGED_MEMORY_MISSING",
        r"MemoryAllocationException|MemoryReservationException|Could not (?:allocate|reserve)"
        r"[^\n]{0,80}(?:managed memory|memory segments|pages)",
        message("managed memory is missing"),
        message(
            "Raise taskmanager.memory.managed.size, or lower the number of slots of a TaskManager. "
            "If it comes after restarts alone, tasks of the attempt before still hold theirs."
        ),
    ),
)
