complete -c quiverd -l socket -d 'Path of the command socket. Default: quiver.sock in --runtime-dir, else /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR if not root' -r -F
complete -c quiverd -l state -d 'Folder of the configuration history; quiverd starts with its newest version. Default: /var/lib/quiver, or below $XDG_STATE_HOME if not root. With --socket there is no default, and no history without this option' -r -F
complete -c quiverd -l audit -d 'Append each change of the configuration to a file, as a line of JSON: time, author, source and difference. Default: audit.log in the folder of --state. Its mode is 0600. At 64 MB it is renamed to FILE.1, replacing the previous one; SIGHUP opens it anew' -r -F
complete -c quiverd -s c -l config -d 'Configuration file to start with instead of the saved configuration, as written by `quiver save`, or a startup.conf of VPP. The content tells which. SIGHUP reads a configuration file again and applies it if it has changed; one that is refused changes nothing. The saved configuration and a startup.conf are not read again' -r -F
complete -c quiverd -l exec -d 'File of commands to run at start; `#` begins a comment' -r -F
complete -c quiverd -l write-api -d 'Write the definitions of the binary API\'s messages for clients as `.api.json` files into a folder, and exit' -r -F
complete -c quiverd -l import -d 'Convert a startup.conf of VPP, and the commands of SCRIPT or of its `exec`, into options of quiverd and a configuration file; print them and exit. The status is 2 if something was left out. Nothing is changed' -r -F
complete -c quiverd -l plugin -d 'Plugin to load, or a folder with `.so` files; may be repeated' -r -F
complete -c quiverd -l runtime-dir -d 'Runtime folder, created if missing: base of relative paths, and default folder of sockets and captures' -r -F
complete -c quiverd -l captures -d 'Folder of captures and API traces that are named without a path, created if missing. Default: captures in --runtime-dir, else beside the command socket. Its files are readable by quiverd\'s user only' -r -F
complete -c quiverd -l files -d 'Folder whose files clients may name that are neither root nor quiverd\'s user; may be repeated. These clients may also name files that every user can read' -r -F
complete -c quiverd -l pid-file -d 'File for the process id; it exists while quiverd runs' -r -F
complete -c quiverd -l log-file -d 'Append the log to a file, which SIGHUP opens anew. Default: standard error, with priorities if that is systemd\'s journal, or syslog in the background' -r -F
complete -c quiverd -l log-level -d 'Log level; RUST_LOG sets it for single modules' -r
complete -c quiverd -l group -d 'Group that may use the sockets. Default: quiverd\'s group' -r
complete -c quiverd -l viewers -d 'Group with read-only access: its members may run `show` commands on viewer.sock beside the command socket' -r
complete -c quiverd -l no-route -d 'Default action of IP tables for packets without a route: report them to their sender by ICMP, or drop them silently as VPP does' -r
complete -c quiverd -l link-layer-broadcast -d 'Default action of IP tables for unicast packets in link-layer broadcasts: drop them, or forward them as VPP does' -r
complete -c quiverd -l unresolved -d 'Default action for packets to unresolved neighbors: queue them, or drop them as VPP does. Either way the neighbor is resolved' -r
complete -c quiverd -l strangers -d 'Default action for ARP requests and neighbor solicitations from senders outside of the link\'s subnet: answer them, or ignore them as VPP does' -r
complete -c quiverd -l unspoken -d 'Action for local packets of unsupported protocols and ports: report them to their sender by ICMP, or punt them as VPP does' -r
complete -c quiverd -l punt-socket -d 'Datagram socket by which programs send packets, each with an 8-byte header: interface index and action' -r -F
complete -c quiverd -l sessions -d 'Largest number of sessions, 1 to 16777216. Memory is allocated when the first interface has sessions, and as they begin' -r
complete -c quiverd -l session-interval -d 'Interval in seconds between checks of the timeouts of sessions: they end at most this much later' -r
complete -c quiverd -l events-socket -d 'Socket of events of sessions, for `quiver export`; may be repeated. Default: events.sock beside the command socket. With --socket there is no default' -r -F
complete -c quiverd -l snort-socket -d 'Socket of inspectors, for VPP\'s Snort DAQ module; may be repeated. Default: snort.sock beside the command socket. With --socket there is no default' -r -F
complete -c quiverd -l object-memory -d 'Memory budget of configured objects in bytes, such as 4G. Default: three quarters of the memory that is available at start. `show object memory` shows its use' -r
complete -c quiverd -l cli-listen -d 'Serve VPP\'s command line for vppctl and telnet: a path, or host and port' -r
complete -c quiverd -l cli-prompt -d 'The prompt of VPP\'s command line' -r
complete -c quiverd -l cli-pager-lines -d 'Largest output in lines that VPP\'s command line pages' -r
complete -c quiverd -l cli-history -d 'Length of the command history on VPP\'s command line' -r
complete -c quiverd -l api-socket -d 'Socket of VPP\'s binary API; may be repeated. A suffix `,profile=RELEASE` presents the message checksums of that VPP release, as in /run/old.sock,profile=25.10. Default: api.sock beside the command socket and, as root without --runtime-dir, /run/vpp/api.sock. With --socket there is no default' -r
complete -c quiverd -l api-trace -d 'Start the API trace with a limit of so many messages: `api trace`' -r
complete -c quiverd -l workers -d 'Number of worker threads, each pinned to a core. With 0 there is one thread that is not pinned' -r
complete -c quiverd -l cores -d 'Cores of the workers, in order. Default: the highest ones, without core 0' -r
complete -c quiverd -l buffers -d 'Number of packet buffers at start' -r
complete -c quiverd -l buffers-limit -d 'Largest number of packet buffers; the pool grows on demand. Default: at least 262144' -r
complete -c quiverd -l isa -d 'Instruction set of the hot paths. Default: the best one that the CPU supports' -r
complete -c quiverd -l stats-socket -d 'Socket of the statistics segment for VPP\'s clients; may be repeated. Default: stats.sock beside the command socket and, as root without --runtime-dir, /run/vpp/stats.sock. With --socket there is no default' -r -F
complete -c quiverd -l stats-size -d 'Size of the statistics segment in bytes, with suffix K, M or G. Only pages in use take memory. Default: 4G, and 1G for each thread, enough for the largest number of interfaces' -r
complete -c quiverd -l stats-interval -d 'Seconds between updates of computed statistics: rates and node clocks' -r
complete -c quiverd -l metrics -d 'Serve metrics for Prometheus at http://ADDRESS:PORT/metrics, without authentication' -r
complete -c quiverd -l otlp -d 'Report metrics to an OpenTelemetry collector by OTLP over HTTP in JSON' -r
complete -c quiverd -l otlp-interval -d 'Seconds between OTLP reports' -r
complete -c quiverd -l no-state -d 'Start without the saved configuration, and keep no history'
complete -c quiverd -l exec-all -d 'Continue after a failed command of the --exec file, and log it'
complete -c quiverd -l daemon -d 'Go to the background once all sockets are served'
complete -c quiverd -l no-announcements -d 'Send no gratuitous ARP when an address is added or its link comes up, as VPP does'
complete -c quiverd -l cli-no-banner -d 'Print no banner on VPP\'s command line'
complete -c quiverd -l cli-no-pager -d 'Disable the pager on VPP\'s command line'
complete -c quiverd -l cli-line-mode -d 'Disable echo and line editing on VPP\'s command line'
complete -c quiverd -l share-buffers -d 'Allocate all buffers at start in memory that other processes can map, so that memif masters read and write packets in place. These processes can see all packets of all interfaces'
complete -c quiverd -l realtime -d 'Run workers with real-time priority (SCHED_RR; needs CAP_SYS_NICE) for low latency on busy cores. A worker that is always busy leaves almost no CPU time to other threads of its core, quiverd\'s control thread included'
complete -c quiverd -l stats-without-nodes -d 'Disable per-node statistics'
complete -c quiverd -s h -l help -d 'Print help'
complete -c quiverd -s V -l version -d 'Print version'
