package Snowfence;

# 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library, with FFI::Platypus.
#
#	my $ids = Snowfence->open('sqlite:/var/lib/shop/ids.db');
#	my $order = $ids->next;
#
# A process that was forked after an open cannot use the library: open in the child.

use strict;
use warnings;
use FFI::Platypus 1.00;

my $ffi = FFI::Platypus->new(api => 1, lib => $ENV{SNOWFENCE_LIBRARY} || 'libsnowfence.so.1');
$ffi->attach([snowfence_abi_version => '_abi'] => [] => 'int');
$ffi->attach([snowfence_last_error => '_last_error'] => ['opaque', 'size_t'] => 'size_t');
$ffi->attach([snowfence_open => '_open'] => ['string', 'string', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_open_statefile => '_statefile'] => ['string', 'string', 'sint64', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_ring_take => '_ring_take'] => ['opaque', 'uint64', 'sint64*'] => 'int');
$ffi->attach([snowfence_ring_refill => '_ring_refill'] => ['opaque', 'uint64', 'sint64*'] => 'int');
$ffi->attach([snowfence_fill => '_fill'] => ['uint64', 'opaque', 'size_t', 'size_t*'] => 'int');
$ffi->attach([snowfence_close => '_close'] => ['uint64'] => 'int');
$ffi->attach([snowfence_open_static => '_static'] => ['string', 'sint64', 'string', 'uint64*'] => 'int');
$ffi->attach([snowfence_decode => '_decode'] => ['string', 'sint64', 'opaque'] => 'int');
$ffi->attach([snowfence_decode_own => '_decode_own'] => ['uint64', 'sint64', 'opaque'] => 'int');
$ffi->attach([snowfence_format => '_format'] => ['sint64', 'string', 'opaque', 'size_t', 'size_t*'] => 'int');
$ffi->attach([snowfence_parse => '_parse'] => ['string', 'string', 'sint64*'] => 'int');

my $RING_WORDS = 1031; # SNOWFENCE_RING_WORDS

die "libsnowfence has another ABI version than this module, which is for 1\n" if _abi() != 1;

# Dies with what happened, to what, and what to do.
sub _check {
	my ($status) = @_;
	return if $status == 0;
	my $text = "\0" x 1024;
	_last_error(_address($text), length $text);
	die sprintf("snowfence: %s (status %d)\n", unpack('Z*', $text), $status);
}

# The arguments, unless C would read one up to its first zero byte.
sub _plain {
	die "snowfence: a text has a zero byte (status 4)\n" if grep { defined && /\0/ } @_;
	return @_;
}

sub _new {
	my ($class, $handle) = @_;
	my $self = bless {handle => $handle, memory => "\0" x (8 * $RING_WORDS)}, $class;
	$self->{ring} = _address($self->{memory});
	return $self;
}

# Leases a node from a store; undef is the store of this machine. Options are text such as "lead=2000".
sub open {
	my ($class, $store, $namespace, $options) = _plain(@_);
	my $handle;
	_check(_open($store, $namespace, $options, \$handle));
	return $class->_new($handle);
}

# Makes IDs of one node, whose use a file remembers over restarts.
sub open_statefile {
	my ($class, $path, $node, $layout, $options) = _plain(@_);
	my $handle;
	_check(_statefile($path, $layout, $node, $options, \$handle));
	return $class->_new($handle);
}

# Makes IDs of a bare number. It is safe inside this process only.
sub open_static {
	my ($class, $node, $layout, $options) = _plain(@_);
	my $handle;
	_check(_static($layout, $node, $options, \$handle));
	return $class->_new($handle);
}

# The address of a text, which the library writes to.
sub _address { return unpack('Q', pack('P', $_[0])) }

# Makes an ID, mostly from those that were taken ahead.
sub next {
	my ($self) = @_;
	my $id = 0;
	if (!_ring_take($self->{ring}, $self->{handle}, \$id)) {
		_check(_ring_refill($self->{ring}, $self->{handle}, \$id));
	}
	return $id;
}

# Makes n IDs. Those with the same bits above the time increase.
sub take {
	my ($self, $n) = @_;
	my ($buf, $made) = ("\0" x (8 * $n), 0);
	_check(_fill($self->{handle}, _address($buf), $n, \$made));
	substr($self->{memory}, 0, 8) = "\0" x 8; # the ring holds lower ones
	return unpack("q$made", $buf);
}

sub _parts {
	my ($call, @args) = @_;
	my $buf = "\0" x 72;
	_check($call->(@args, _address($buf)));
	my %parts;
	@parts{qw(tick seconds nanoseconds node sequence rollback key scatter tag)} = unpack('q9', $buf);
	return \%parts;
}

# Takes an ID apart: tick, seconds, nanoseconds, node, sequence, rollback, key, scatter, tag. Of an object, with its secrets.
sub decode {
	my ($self, $id, $layout) = _plain(@_);
	return ref $self ? _parts(\&_decode_own, $self->{handle}, $id) : _parts(\&_decode, $layout, $id);
}

# Writes an ID as text, such as "base58"; undef is decimal.
sub format {
	my ($class, $id, $encoding) = _plain(@_);
	my ($buf, $length) = ("\0" x 80, 0);
	_check(_format($id, $encoding, _address($buf), length $buf, \$length));
	return substr($buf, 0, $length);
}

# Reads the text of an ID.
sub parse {
	my ($class, $text, $encoding) = _plain(@_);
	my $id = 0;
	_check(_parse($text, $encoding, \$id));
	return $id;
}

# Ends the generator and gives its node back. A second call does nothing.
sub close {
	my ($self) = @_;
	_check(_close($self->{handle})) if !$self->{closed}++;
}

# A copy would make the same IDs as its original: a new thread of Perl has none, and Storable refuses.
sub CLONE_SKIP { return 1 }
sub STORABLE_freeze { die "snowfence: a generator cannot be copied: open one in each process and thread\n" }

sub DESTROY {
	my ($self) = @_;
	local $@;
	eval { $self->close }; # the node is free when its lease ends; close tells
}

1;
