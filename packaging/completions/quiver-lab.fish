# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_quiver_lab_global_optspecs
    string join \n json h/help V/version
end

function __fish_quiver_lab_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_quiver_lab_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_quiver_lab_using_subcommand
    set -l cmd (__fish_quiver_lab_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -l json -d 'Answer in JSON; may also stand behind the command'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -s V -l version -d 'Print version'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "list" -d 'List the cases of the suites, and what this machine lacks for each'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "run" -d 'Measure cases: generator, device and search of each; a JSON document of each in a folder or an object store'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "connections" -d 'Load a device with TCP or UDP connections, as client and server'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "compare" -d 'Compare stored results of two revisions, machines or peers, test by test'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "gate" -d 'Tell by the exit status whether a build may pass: 0 if it is not slower, 1 if it is, 2 if that cannot be told'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "bisect" -d 'Find the commit that made something slower, between a good one and a bad one'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "export" -d 'Write stored results as one Parquet file, a row a test, for DuckDB, Spark, Trino and others'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "send" -d 'Move stored results to an object store, or to another folder'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "site" -d 'Make a dashboard of stored results: a folder of static pages'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "serve" -d 'Serve the dashboard of stored results, and make it again when there are new ones'
complete -c quiver-lab -n "__fish_quiver_lab_needs_command" -f -a "top" -d 'Show the graph of a running quiverd in a browser, with rates on its arcs'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand list" -l suites -d 'Suites beside the built-in ones: all files *.yaml of a folder' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand list" -l testbed -d 'The cases that run on this testbed, as `quiver lab run --testbed` would' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand list" -l json -d 'As a list in JSON, with all fields, tags and needs'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l suites -d 'Suites beside the built-in ones: all files *.yaml of a folder' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l testbed -d 'Where: a file that names hosts, ports and cores, of one, two or three nodes; else all is on this machine' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l results -d 'Where documents go: a folder, s3://BUCKET/PREFIX, or - for a line each on the standard output' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l unsent -d 'Where documents are kept that their place does not take' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l quiverd -d 'The quiverd that cases of Quiver measure, in place of the one that is installed' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l trial -d 'The same with trials of so many seconds' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l endure -d 'How many seconds searches for leaks and drift take: four hours by default, or twenty short trials' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l interleave -d 'Measure the devices of what is else the same in turns, so many times each, and compare them' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l draw -d 'Only so many of the cases, drawn by lot among those that this machine can run' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l seed -d 'Seed that decides which cases are drawn, and whose turn comes first; printed when none is given' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l short -d 'Trials of 0.1 s, few of them, and wide intervals. Cases that differ in search, load or window alone share processes'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -s y -l yes -d 'Begin a run of hours without asking'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -l json -d 'Print the results as an object in JSON'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l load -d 'A file with words, which come before those of the command line' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l device -d 'Kind of the router in their path, or several to compare: none, quiver, linux, vpp' -r -f -a "none\t'Nothing: the generator by itself'
quiver\t'Quiver as an IP router'
linux\t'The kernel as an IP router'
vpp\t'VPP as an IP router'"
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l suite -d 'A suite of CSIT by its name, such as ethip4tcp-ip4base-h1024-p63-s64512-cps-ndrpdr; by CSIT\'s rule, through Quiver by default' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l driver -d 'Link between device and generator' -r -f -a "memif\t'Shared memory'
veth\t'Virtual Ethernet between namespaces'
tap\t'TAP interfaces'"
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l time -d 'Seconds in which connections are opened' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l search -d 'Search for the greatest rate without loss, and with 0.5 % of it (MLRsearch); or with soak for the rate at which one in ten million is lost in the long run (PLRsearch)' -r -f -a "ndrpdr\t'MLRsearch for NDR and PDR'
soak\t'PLRsearch'"
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l trial -d 'Seconds of a trial of the search, in place of CSIT\'s 21 s at each rate' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l results -d 'Keep a document of each device\'s result: a folder, s3://BUCKET/PREFIX, or - for a line each on the standard output' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l quiverd -d 'Measure this quiverd as the device' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l conntrack -d 'The kernel as a router tracks connections (nftables, `ct state`)'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l list -d 'List CSIT\'s suites whose names contain all words, with the reason if one cannot be measured'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l one-core -d 'Without a device: both ends on one core, instead of a core for each'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l csit -d 'Count as CSIT does: connections of tcp-cps after SYN and SYN-ACK; of others packets, so that rates are of transactions'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -l json -d 'Answer in JSON, with all counts and histograms'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand connections" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand compare" -l results -d 'Where documents are, for a side that does not say' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand compare" -l smallest -d 'The smallest difference that matters, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand compare" -l confidence -d 'How sure a verdict is, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand compare" -l json -d 'As an object in JSON'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l measure -d 'A command that measures $QUIVER_BUILD and says a number in its last line, in place of cases' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l suites -d 'Suites beside the built-in ones: all files *.yaml of a folder' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l trial -d 'Seconds of a trial; each measurement has three of them, and starts generator and device anew' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l repository -d 'The repository of commits' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l build -d 'A command that builds a commit in its working folder, and puts what is measured into $QUIVER_BUILD' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l state -d 'Where commits are built, and their builds are kept' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l results -d 'Where stored results are, for a side that does not say' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l keep -d 'Keep the documents of what is measured here, too' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l smallest -d 'The smallest difference that matters, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l confidence -d 'How sure a verdict is, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l pairs -d 'How many times both are measured, in turns' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l seed -d 'Seed that decides who of a pair comes first; printed when none is given' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l less-is-better -d 'Less is better: what --measure says is a time or a cost'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -l json -d 'As an object in JSON'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l measure -d 'A command that measures $QUIVER_BUILD and says a number in its last line, in place of a case' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l suites -d 'Suites beside the built-in ones: all files *.yaml of a folder' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l trial -d 'Seconds of a trial; each measurement has three of them, and starts generator and device anew' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l repository -d 'The repository of commits' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l build -d 'A command that builds a commit in its working folder, and puts what is measured into $QUIVER_BUILD' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l samples -d 'How often each commit is measured' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l state -d 'Where the tree, the builds and what is known are kept' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l smallest -d 'The smallest difference that matters, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l confidence -d 'How sure a verdict is, in percent' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l pairs -d 'How many times both are measured, in turns' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l seed -d 'Seed that decides who of a pair comes first; printed when none is given' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l less-is-better -d 'Less is better: what --measure says is a time or a cost'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -l json -d 'As an object in JSON'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand bisect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand export" -l parquet -d 'The file; one that is there is replaced' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand export" -l results -d 'Where the documents are' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand export" -s h -l help -d 'Print help'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand send" -l from -d 'The folder with documents; by default, where those are kept that could not be stored' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand site" -l results -d 'Where the documents are: a folder, s3://BUCKET/PREFIX, or a file of `quiver lab export`, NAME.parquet' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand site" -l synthetic -d 'So many documents that are made up instead, to see how the pages do with many' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand site" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l listen -d 'Address and port; other addresses than loopback need --tls-cert, --tls-key and --token. Port 0 is any free one' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l tls-cert -d 'The server\'s certificate, and those that lead to its authority, in PEM' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l tls-key -d 'Its private key, in PEM' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l token -d 'File with a token of 16 or more characters, which browsers ask for as the password of any user' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l results -d 'Where the documents are: a folder, s3://BUCKET/PREFIX, or a file of `quiver lab export`, NAME.parquet' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l synthetic -d 'So many documents that are made up instead, to see how the pages do with many' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -l every -d 'Seconds between two looks for new results' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l socket -d 'The daemon\'s command socket; QUIVER_SOCKET names another default' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l stats-socket -d 'Its statistics socket; by default stats.sock beside the command socket' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l listen -d 'Address and port; other addresses than loopback need --tls-cert, --tls-key and --token. Port 0 is any free one' -r
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l tls-cert -d 'The server\'s certificate, and those that lead to its authority, in PEM' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l tls-key -d 'Its private key, in PEM' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -l token -d 'File with a token of 16 or more characters, which browsers ask for as the password of any user' -r -F
complete -c quiver-lab -n "__fish_quiver_lab_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
