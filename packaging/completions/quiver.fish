# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_quiver_global_optspecs
    string join \n socket= json h/help V/version
end

function __fish_quiver_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_quiver_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_quiver_using_subcommand
    set -l cmd (__fish_quiver_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c quiver -n "__fish_quiver_needs_command" -l socket -d 'Socket of quiverd. Default: /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR if not root' -r -F
complete -c quiver -n "__fish_quiver_needs_command" -l json -d 'Print JSON, errors too; may also follow the command'
complete -c quiver -n "__fish_quiver_needs_command" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_needs_command" -s V -l version -d 'Print version'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "apply" -d 'Apply a configuration file as a whole, or not at all. Objects that are not in the file are removed'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "confirm" -d 'Confirm the configuration that was applied with --confirm'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "diff" -d 'Show the differences between the running configuration and a file, the saved configuration, the candidate or an earlier version'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "history" -d 'Show the configuration history, newest first: time, author and comment'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "plan" -d 'Show the steps that would apply a file, and make it the candidate'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "rollback" -d 'Apply an earlier configuration from the history'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "save" -d 'Save the running configuration for the next start, and write it as a file'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "doctor" -d 'Check this machine for Quiver, and suggest remedies'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "health" -d 'Say whether quiverd works: for probes'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "demo" -d 'Connect two network namespaces through quiverd, and compare it with the kernel'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "exec" -d 'Run commands from a file, one per line; # begins a comment'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "export" -d 'Export what quiverd records: events of sessions'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "import" -d 'Convert VPP\'s startup.conf and its script into a configuration file'
complete -c quiver -n "__fish_quiver_needs_command" -f -a "lab" -d 'Measure Quiver and other forwarders by CSIT\'s methods: runs quiver-lab, a program of its own'
complete -c quiver -n "__fish_quiver_using_subcommand apply" -l confirm -d 'Roll back after so many seconds, unless confirmed by `quiver confirm`' -r
complete -c quiver -n "__fish_quiver_using_subcommand apply" -s m -l comment -d 'Comment for the history' -r
complete -c quiver -n "__fish_quiver_using_subcommand apply" -l merge -d 'Merge the file into the running configuration: other objects stay as they are'
complete -c quiver -n "__fish_quiver_using_subcommand apply" -l allow-empty -d 'Permit a file without objects, which removes the whole configuration'
complete -c quiver -n "__fish_quiver_using_subcommand apply" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand apply" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand confirm" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand confirm" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand diff" -l version -d 'Compare with an earlier version, so many back' -r
complete -c quiver -n "__fish_quiver_using_subcommand diff" -l candidate -d 'Compare with the candidate, which was planned last'
complete -c quiver -n "__fish_quiver_using_subcommand diff" -l merge -d 'Merge the file into the running configuration: other objects stay as they are'
complete -c quiver -n "__fish_quiver_using_subcommand diff" -l exit-code -d 'Exit with status 1 if there are differences, and 2 after an error'
complete -c quiver -n "__fish_quiver_using_subcommand diff" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand diff" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand history" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand history" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand plan" -l merge -d 'Merge the file into the running configuration: other objects stay as they are'
complete -c quiver -n "__fish_quiver_using_subcommand plan" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand plan" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand rollback" -l confirm -d 'Roll back after so many seconds, unless confirmed by `quiver confirm`' -r
complete -c quiver -n "__fish_quiver_using_subcommand rollback" -s m -l comment -d 'Comment for the history' -r
complete -c quiver -n "__fish_quiver_using_subcommand rollback" -l json -d 'Print JSON'
complete -c quiver -n "__fish_quiver_using_subcommand rollback" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand save" -s m -l comment -d 'Comment for the history' -r
complete -c quiver -n "__fish_quiver_using_subcommand save" -l json -d 'Write JSON, which is also valid YAML'
complete -c quiver -n "__fish_quiver_using_subcommand save" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand doctor" -l json -d 'Print results as JSON'
complete -c quiver -n "__fish_quiver_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand health" -l timeout -d 'Time limit for the answer of quiverd' -r
complete -c quiver -n "__fish_quiver_using_subcommand health" -l json -d 'Answer in JSON'
complete -c quiver -n "__fish_quiver_using_subcommand health" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l in -d 'Run COMMAND in a namespace of a running demo: `client` or `server`' -r
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l id -d 'Id of a running demo, as it printed it' -r
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l seconds -d 'Duration of each throughput measurement' -r
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l path -d 'Measure only this path; may be repeated' -r -f -a "veth\t'A veth pair from one namespace to the other'
linux-bridge\t'Two veth pairs and a Linux bridge in a third namespace'
quiver-bridge\t'quiverd as a learning bridge'
quiver-router\t'quiverd as an IPv4 router'"
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l keep -d 'Leave the last path running'
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l stop -d 'Stop all demos that were left running'
complete -c quiver -n "__fish_quiver_using_subcommand demo" -l json -d 'Print results as JSON'
complete -c quiver -n "__fish_quiver_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver -n "__fish_quiver_using_subcommand exec" -l keep-going -d 'Continue after a failed command'
complete -c quiver -n "__fish_quiver_using_subcommand exec" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand export; and not __fish_seen_subcommand_from sessions" -s h -l help -d 'Print help'
complete -c quiver -n "__fish_quiver_using_subcommand export; and not __fish_seen_subcommand_from sessions" -f -a "sessions" -d 'Export events of sessions as JSON lines, IPFIX or syslog'
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l json-lines -d 'Append JSON lines to a file; `-` is standard output' -r -F
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l ipfix -d 'Send IPFIX (RFC 7011) over UDP: biflows, NAT events, denied flows' -r
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l syslog -d 'Send syslog messages (RFC 5424) over UDP, or to a socket such as /dev/log' -r
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l name -d 'Name of this exporter: the next one of this name goes on where it was. Default: json, ipfix or syslog' -r
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l domain -d 'IPFIX observation domain' -r
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -l events-socket -d 'Socket of quiverd\'s events. Default: events.sock beside the command socket' -r -F
complete -c quiver -n "__fish_quiver_using_subcommand export; and __fish_seen_subcommand_from sessions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver -n "__fish_quiver_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
