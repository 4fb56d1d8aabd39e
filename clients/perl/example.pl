# Prints IDs: perl -I clients/perl clients/perl/example.pl STORE N
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Snowfence;

my ($store, $n) = @ARGV;
my $ids = Snowfence->open($store, undef, 'label=perl-example');
print $ids->next, "\n" for 1 .. $n;
$ids->close;
