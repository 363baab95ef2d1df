! A message from one stream to another, and the error of a port at which nothing listens.
program fortran
  use prp
  implicit none
  type(c_ptr) :: listener, client, server
  type(prp_address_t) :: address
  type(prp_stats_t) :: stats
  character(kind=c_char), dimension(PRP_ADDRESS_SIZE) :: text
  integer(c_int) :: state
  character(len=5), target :: sent = 'hello', received
  listener = prp_listen('self:0' // c_null_char, c_null_ptr)
  if (.not. c_associated(listener)) call fail()
  if (prp_abi_version() < 0) stop 1
  if (prp_listener_address(listener, address) < 0) call fail()
  ! A port that the system has chosen is above 32767.
  if (address%port >= 0 .or. iand(int(address%port), 65535) <= 32767) stop 1
  if (prp_address_format(address, text, int(size(text), c_size_t)) < 0) call fail()
  client = prp_connect(text, c_null_ptr)
  server = prp_accept(listener)
  if (.not. c_associated(client) .or. .not. c_associated(server)) call fail()
  if (prp_send_message(client, c_loc(sent), 5_c_size_t) /= 5) call fail()
  if (prp_recv_message(server, c_loc(received), 5_c_size_t, state) /= 5) call fail()
  if (state /= PRP_MESSAGE_END .or. received /= 'hello') stop 1
  if (prp_stream_stats(client, stats, c_sizeof(stats)) < 0) call fail()
  if (stats%bytes_sent /= 5) stop 1
  if (prp_listener_close(listener) < 0 .or. prp_close(server) < 0) call fail()
  if (c_associated(prp_connect(text, c_null_ptr))) stop 1
  if (prp_last_errno() /= 111) call fail()
  if (prp_close(client) < 0) call fail()
  print '(a)', 'done'
contains
  subroutine fail()
    print *, 'error', prp_last_errno()
    stop 1
  end subroutine fail
end program fortran
