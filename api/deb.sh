#!/bin/sh
# deb.sh - `make deb`: a Debian package of what `make install` puts in place. It depends on the packages from which the
# libraries came here, because a program is as safe as these, and on the server of a private database.
#
#   api/deb.sh BUILD        makes BUILD/holdfast_VERSION_ARCHITECTURE.deb from BUILD/deb
set -eu
build=$1 root=$1/deb
version=$("$build/holdfast" version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)

depends='adduser, ca-certificates, mariadb-server-core (>= 1:10.11), mariadb-client-core (>= 1:10.11)'
packages=$(readelf -d "$build/holdfast" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r library; do
	dpkg-query -S "*/$library" | grep -v '^diversion' | head -n 1 | cut -d : -f 1
done | sort -u)
for package in $packages; do
	depends="$depends, $package (>= $(dpkg-query -W -f '${Version}\n' "$package" | head -n 1))"
done

umask 022
mkdir -p "$root/DEBIAN"
chmod 755 "$root"
cat > "$root/DEBIAN/control" <<END
Package: holdfast
Version: $version
Architecture: $architecture
Maintainer: The makers of Holdfast <holdfast@localhost>
Installed-Size: $(du -sk "$root" | cut -f 1)
Depends: $depends
Section: database
Priority: optional
Description: inventory reservations that are never promised twice
 An HTTP service that holds, confirms and settles units of stock for orders,
 on a private MariaDB or on one of yours.
END
cat > "$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
getent passwd holdfast > /dev/null || adduser --system --group --home /var/lib/holdfast --no-create-home holdfast
[ ! -d /run/systemd/system ] || systemctl daemon-reload
END
cat > "$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
[ "$1" != remove ] || [ ! -d /run/systemd/system ] || systemctl disable --now holdfast
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
dpkg-deb --root-owner-group --build "$root" "$build/holdfast_${version}_$architecture.deb"
