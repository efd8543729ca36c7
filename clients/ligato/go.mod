module quiver/clients/ligato

go 1.21

require go.fd.io/govpp v0.8.0

require (
	github.com/fsnotify/fsnotify v1.4.9 // indirect
	github.com/lunixbochs/struc v0.0.0-20200521075829-a4cb8d33dbbe // indirect
	github.com/sirupsen/logrus v1.8.1 // indirect
	golang.org/x/sys v0.5.0 // indirect
)
