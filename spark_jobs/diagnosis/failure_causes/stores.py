from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

_NAMES_STORE = (
    r"(?=[\s\S]*(?:\bs3[an]?://|[Ss]3\b|Amazon ?S3|S3Exception|\.s3|\bOSS|\bCOS\b|cosn?://|\bobs\b"
    r"|oss://|gs://|storage\.googleapis|cloud\.storage|core\.windows|azure\.storage|abfs|wasb|hadoop\.fs))"
)
_THROTTLED = (
    r"Status Code: 503\b|Too ?Many ?Requests|RequestLimitExceeded|[rR]ateLimitExceeded"
    r"|ThrottlingException|ServiceUnavailable"
)
_NO_CONNECTION = (
    r"Timeout waiting for connection from pool|Acquire operation took longer"
    r"|ConnectionPoolTimeoutException"
)
_REFUSED = (
    r"AccessDenied|Access Denied|Status Code: 40[13]\b|40[13] (?:Forbidden|Unauthorized)"
    r"|InvalidAccessKeyId|ExpiredToken|SignatureDoesNotMatch|failed to authenticate the request"
    r"|Unable to load (?:AWS )?credentials|No AWS Credentials provided"
)


def _of_store(words: str) -> str:
    """Matches ``words`` of HTTP in a text that names an object store. Few texts have these words,
    so they come first.
    """
    return rf"\A(?=[\s\S]*?(?:{words})){_NAMES_STORE}[\s\S]*?(?:{words})"


CAUSES = (
    FailureCause(
        "OPEN_FILES_USED_UP",
        r"Too many open files|打开的文件过多|Zu viele offene Dateien",
        message("no more files or connections can be opened"),
        message(
            "Raise the limit of the process (ulimit -n, LimitNOFILE) to 65,536 or more. Count what "
            "it holds (lsof): files of RocksDB (state.backend.rocksdb.files.open), or clients that "
            "the job opens for each record or each restart and never closes."
        ),
    ),
    FailureCause(
        "DISK_BROKEN",
        r"Read-only file system|Input/output error|Structure needs cleaning",
        message("a disk of the host fails"),
        message(
            "Take that host out (cordon it, or stop its TaskManager), and read its kernel log: the "
            "system sets a disk to read-only after errors. Where it is a mount of the container, "
            "see whether it was meant to be writable."
        ),
    ),
    FailureCause(
        "DISK_FULL",
        # In the language of the host.
        r"No space left on device|Disk quota exceeded|There is not enough space on the disk"
        r"|设备上没有空间|磁盘空间不足|裝置上已無多餘空間|デバイスに空き領域がありません"
        r"|장치에 남은 공간이 없"
        r"|kein Speicherplatz mehr verfügbar|nicht genug Speicherplatz|Aucun espace disponible sur"
        r"|Espace insuffisant sur le disque|No queda espacio en el dispositivo|Espacio en disco insuf"
        r"|Não há espaço disponível|Sem espaço livre no disp|Spazio esaurito sul"
        r"|не осталось свободного места|Brak miejsca na urz|Geen ruimte meer over op|boş yer yok",
        message("a disk is full"),
        message(
            "Free or enlarge the disk of the host that is named: io.tmp.dirs, RocksDB's local "
            "directory (state.backend.rocksdb.localdir) and logs share it. Bound logs, and the "
            "pod's ephemeral storage with them."
        ),
    ),
    FailureCause(
        "STORAGE_QUOTA",
        r"(?:DS|NS|hdfs[^\n]{0,60})Quota(?:ByStorageType)?Exceeded|quota of /[^\n]{0,300}is exceeded"
        r"|MaxDirectoryItemsExceeded",
        message("the storage's quota is used up"),
        message(
            "Raise the quota of the directory, or clean up what is not referred to any more: the "
            "storage page shows how much that is."
        ),
    ),
    FailureCause(
        "STREAM_THROTTLED",
        r"ProvisionedThroughputExceeded|Rate exceeded for (?:shard|stream)",
        message("a stream or table of AWS throttles requests"),
        message(
            "Compare what the job asks for with what its shards or capacity allow: five reads a "
            "second for each shard of Kinesis, shared by all its readers. Add shards or capacity, "
            "read less often (shard.getrecords.intervalmillis), or use enhanced fan-out."
        ),
    ),
    FailureCause(
        "STORE_THROTTLED",
        r"SlowDown|educe your request rate|ServerBusy|QpsLimitExceeded|AWSServiceThrottled"
        r"|exceeded the rate limit for object"
        rf"|{_of_store(rf'[Ss]low [Dd]own|OperationTimedOut|{_THROTTLED}')}",
        message("the object store throttles requests"),
        message(
            "Fewer and larger files: raise state.storage.fs.memory-threshold, merge files "
            "(execution.checkpointing.file-merging.enabled from 1.20 on), checkpoint less often. "
            "Spread them over prefixes (s3.entropy.key), and let clients retry longer "
            "(fs.s3a.attempts.maximum, s3.retry-policy)."
        ),
    ),
    FailureCause(
        "SERVICE_THROTTLED",
        rf"(?:HTTP(?:/[0-9.]{{1,4}})?|[Ss]tatus|[Cc]ode)[ :='\"]{{1,3}}429\b|{_THROTTLED}",
        message("an outside service limits the requests of the job"),
        message(
            "See from the trace which service it is, and what it allows. Send fewer requests: in "
            "batches, from fewer subtasks, with a cache or a limit in the job. Let the client wait "
            "and try again by itself: each failure that it passes on restarts the job."
        ),
    ),
    FailureCause(
        "STORE_POOL_EXHAUSTED",
        rf"\A(?=[\s\S]*?(?:{_NO_CONNECTION}))(?=[\s\S]*(?:amazon|[Ss]3|obs|oss|aliyun))"
        rf"(?![\s\S]*(?i:kinesis|dynamodb|elasticsearch))[\s\S]*?(?:{_NO_CONNECTION})",
        message("the client of the object store has no free connection"),
        message(
            "Raise its pool (fs.s3a.connection.maximum; s3.connection.max of the native S3 file "
            "system) above the subtasks and upload threads of a TaskManager. If that only delays "
            "it, look for streams that are not closed: a known bug of several releases."
        ),
    ),
    FailureCause(
        "BUCKET_MISSING",
        r"NoSuchBucket|specified (?:bucket|container) does not exist|ContainerNotFound"
        r"|PermanentRedirect|AuthorizationHeaderMalformed|addressed using the specified endpoint",
        message("the bucket is not there, or not at that endpoint"),
        message(
            "Compare the bucket's name, region and endpoint with what the job uses (s3.endpoint, "
            "fs.s3a.endpoint.region, s3.path.style.access)."
        ),
    ),
    FailureCause(
        "STORE_REFUSED",
        r"AuthorizationFailure|AuthorizationPermissionMismatch|NoAuthWithAWSException"
        r"|AccessControlException(?!: Client cannot auth)|Permission denied|权限不够"
        r"|Keine Berechtigung|does not have storage\."
        rf"|{_of_store(_REFUSED)}",
        message("access to the storage is refused"),
        message(
            "See which identity the process uses (instance role, service account, keys) and "
            "whether it may read, write, list and delete there; a token or key may have expired."
        ),
    ),
    FailureCause(
        "STORE_TIMEOUT",
        r"Error Code: RequestTimeout|not read from or written to within the timeout period"
        r"|ApiCallAttemptTimeout|ApiCallTimeoutException",
        message("requests to the object store time out"),
        message(
            "See what slows the way to the store: the network of the hosts, a proxy, uploads that "
            "share the link, long pauses of the garbage collection. Fewer upload threads and "
            "smaller parts send each of them faster."
        ),
    ),
    FailureCause(
        "NAMENODE_UNAVAILABLE",
        r"SafeModeException|in safe mode|StandbyException|Operation category \w+ is not supported "
        r"in state standby",
        message("the NameNode is in safe mode or on standby"),
        message(
            "See why it is: after a restart it waits for blocks, with a full disk it stays. Name "
            "the name service and not one NameNode in the paths, so that clients fail over."
        ),
    ),
    FailureCause(
        "HDFS_NO_DATANODE",
        r"could only be (?:replicated|written) to \d+|Failed to replace a bad datanode"
        r"|All datanodes [^\n]{0,400}are bad|LeaseExpiredException|lease recovery is in progress"
        r"|RecoveryInProgressException|Problem while truncating file"
        r"|Unable to close file because the last block",
        message("HDFS cannot write a file: DataNodes are missing, or its lease is not free"),
        message(
            "Count the DataNodes that live and have room, and look for those that the client had "
            "excluded. After a failure HDFS frees a file only some time later: a longer delay "
            "between restarts lets it."
        ),
    ),
    FailureCause(
        "AUTHENTICATION_FAILED",
        r"GSSException|SaslAuthenticationException|SaslException|LoginException|KrbException"
        r"|Kerberos (?:principal|ticket|credentials|authentication)|\$InvalidToken|cannot authenticate via"
        r"|token[^\n]{0,60}(?:is expired|can't be found in cache)|SSLHandshake"
        r"|Authentication failed|PKIX path|CertificateExpired|password authentication failed"
        r"|Access denied for user|(?:Topic|Group|Cluster|TransactionalId)AuthorizationException"
        rf"|{_REFUSED}",
        message("an outside system refuses the job's identity"),
        message(
            "Renew the keytab, token, password or certificate, and see whether Flink may renew it "
            "by itself (security.kerberos.login.*, delegation tokens). A job that ran for days "
            "and fails then has mostly outlived its token."
        ),
    ),
    FailureCause(
        "TASKMANAGERS_DISCONNECTED",
        r"netty\.exception\.(?:Local|Remote)TransportException|Connecting to remote task manager"
        r"|PartitionConnectionException",
        message("the connection between two TaskManagers broke"),
        message(
            "Mostly one of them ended at that time: its own log and the end of its container say "
            "why. If both live, look at what is between their hosts (policies, idle time-outs, "
            "lost packets), and at long garbage collections."
        ),
    ),
    FailureCause(
        "CONNECTION_BROKEN",
        r"Connection reset|Broken pipe|Connection refused|(?<!connect\.errors\.)ConnectException"
        r"|SocketTimeoutException|ClosedChannelException|errors\.(?:Timeout|Network|Disconnect)"
        r"Exception|(?:connect|Connection|Read|read) timed out|NoRouteToHost|UnknownHostException"
        r"|I/O error occurred while sending to the backend|listener timeout after waiting"
        r"|Async function call has timed out"
        r"|CommunicationsException|Connection (?:is )?closed|HikariPool[^\n]{0,80}not available"
        r"|Topic [^\n]{0,200} not present in metadata|Expiring \d+ record\(s\)"
        r"|Communications link failure|forcibly closed by the remote host|连接被对方重设"
        r"|远程主机强迫关闭|拒绝连接|连接超时|Verbindung wurde vom|terminating connection due to"
        r"|after connection closed"
        r"|(?:MongoTimeout|JedisConnection|MongoSocket\w{0,20})Exception"
        r"|[Tt]imeout waiting for connection from pool",
        message("the connection to an outside system broke"),
        message(
            "Read the root exception: the first frame of the job or its connector says which system "
            "it is. See whether that system, or what is between (load balancer, idle time-out, TLS),"
            " ended the connection. Let the client retry by itself: each failure that it passes on "
            "restarts the job."
        ),
    ),
)
